"""Views for the tests of the decorator and the middleware."""

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.urls import path
from django.views import View
from ninja import NinjaAPI

import config.urls
from ratelimit.decorators import limit

api = NinjaAPI(urls_namespace="ratelimit-tests")


def plain(request):
    return HttpResponse("ok")


@limit("two")
def sync_view(request):
    return HttpResponse("ok")


@limit("two")
async def async_view(request):
    return HttpResponse("ok")


@limit("two", methods=["POST"])
def post_only(request):
    return HttpResponse("ok")


@limit("two", when=lambda request: "q" in request.GET)
def search(request):
    return HttpResponse("ok")


@limit("two")
class ClassView(View):
    def get(self, request):
        return HttpResponse("ok")


@limit("two")
class AsyncClassView(View):
    async def get(self, request):
        return HttpResponse("ok")


@limit("two")
@limit("wide")
def twice(request):
    return HttpResponse("ok")


@limit("alone")
def stream(request):
    return StreamingHttpResponse(iter([b"a", b"b"]))


@limit("alone")
def failing(request):
    raise Http404


@api.get("/operation")
@limit("two")
def operation(request, number: int = 0):
    return {"number": number}


@api.get("/async-operation")
@limit("two")
async def async_operation(request, number: int = 0):
    return {"number": number}


urlpatterns = [
    path("plain/", plain),
    path("sync/", sync_view),
    path("async/", async_view),
    path("post/", post_only),
    path("search/", search),
    path("class/", ClassView.as_view()),
    path("async-class/", AsyncClassView.as_view()),
    path("twice/", twice),
    path("stream/", stream),
    path("failing/", failing),
    path("api/limited/", api.urls),
    *config.urls.urlpatterns,  # the product's pages link to these
]
