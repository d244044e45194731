"""Home, a player's page, the console, one's own score and profile."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import Client

from leaderboard.access.aliases import alias_of
from leaderboard.access.people import player_id_of
from leaderboard.boards.moderation import enforce
from leaderboard.closing.seasons import close_season
from leaderboard.models import Board, Player
from leaderboard.presentation import SMALL_BOARD
from tests.leaderboard.pages.conftest import ACTOR, make_board, make_player, score


def text_of(response: HttpResponse) -> str:
    assert response.status_code == 200, response
    return response.content.decode()


class TestHome:
    def test_a_new_installation_says_what_comes_next(self, client: Client, db: None) -> None:
        text = text_of(client.get("/"))
        assert "No board yet" in text
        assert "Sign in and create one." in text
        client.force_login(get_user_model().objects.create_superuser("root"))
        assert "Create a board" in text_of(client.get("/"))

    def test_it_lists_public_boards_with_their_leaders(self, client: Client, board: Board) -> None:
        make_board("secret", visibility="private")
        make_board("quiet", visibility="unlisted")
        for name, value in (("a", 4), ("b", 3), ("c", 2), ("d", 1)):
            score(board, name, value, name=f"Player {name}")
        text = text_of(client.get("/"))
        assert "Player c" in text
        assert "Player d" not in text
        assert "4 players" in text
        assert "/boards/secret/" not in text
        assert "/boards/quiet/" not in text

    @pytest.mark.parametrize("page", ["0", "x", "99", "9" * 40])
    def test_it_shows_a_page_whatever_the_number(
        self, client: Client, board: Board, page: str
    ) -> None:
        assert "The Cup" in text_of(client.get("/", {"page": page}))


class TestPlayer:
    def test_it_shows_place_rivals_and_other_boards(self, client: Client, board: Board) -> None:
        other = make_board("other")
        for name, value in (("a", 9), ("b", 5), ("c", 1)):
            score(board, name, value)
        score(other, "b", 77)
        text = text_of(client.get("/boards/cup/players/b/"))
        assert "Rivals" in text
        assert "/boards/cup/players/a/" in text
        assert "/boards/other/players/b/" in text
        assert "Top" not in text, "two of three is no share to speak of"

    def test_it_says_the_share_of_a_board_that_is_large_enough(
        self, client: Client, board: Board
    ) -> None:
        for number in range(SMALL_BOARD - 1):
            score(board, f"p{number}", number)
        assert "Top" not in text_of(client.get("/boards/cup/players/p3/"))
        score(board, "last", -1)
        assert "Top 80 %" in text_of(client.get("/boards/cup/players/p3/"))
        client.force_login(make_player("p3"))
        assert "Top 80 %" in text_of(client.get("/boards/cup/"))

    def test_it_shows_the_description_that_a_game_or_the_console_gave(
        self, client: Client, board: Board
    ) -> None:
        score(board, "ada", 5, description="Writes <b>programs</b>\nfor engines.")
        text = text_of(client.get("/boards/cup/players/ada/"))
        assert "Writes &lt;b&gt;programs&lt;/b&gt;<br>for engines." in text
        close_season(board=board, actor=ACTOR)
        assert "for engines." in text_of(client.get("/boards/cup/players/ada/"))

    def test_strange_ids_have_a_page(self, client: Client, board: Board) -> None:
        for name in ("a/b", "x y", "<b>", "ü?#&", "..", "%2F"):
            score(board, name, 5)
        response = client.get("/boards/cup/")
        for url in {row.url for row in response.context["rows"]}:
            assert client.get(url).status_code == 200, url

    def test_the_best_season_is_marked(self, client: Client, board: Board) -> None:
        for value in (1, 9, 5):
            score(board, "a", 7)
            score(board, "b", value)
            close_season(board=board, actor=ACTOR, open_next=True)
        text = text_of(client.get("/boards/cup/players/b/"))
        assert text.count(">Best<") == 1
        row = next(row for row in text.split("<tr>") if ">Best<" in row)
        assert "seasons/2/" in row

    def test_nobody_is_404(self, client: Client, board: Board) -> None:
        assert client.get("/boards/cup/players/nobody/").status_code == 404
        assert client.get("/boards/none/players/nobody/").status_code == 404

    def test_who_opted_out_has_no_page(self, client: Client, board: Board) -> None:
        make_player("gone", privacy="opted_out")
        score(board, "gone", 5)
        assert client.get("/boards/cup/players/gone/").status_code == 404

    def test_the_anonymous_tell_nothing_about_themselves(
        self, client: Client, board: Board
    ) -> None:
        make_player("shy", privacy="anonymous", bio="I am shy")
        enforce("shy", [board])
        score(board, "shy", 5)
        text = text_of(client.get(f"/boards/cup/players/{alias_of(board, 'shy')}/"))
        assert "I am shy" not in text
        assert "Last seen" not in text


class TestConsole:
    @pytest.fixture
    def demo(self, db: None) -> Board:
        return make_board("demo", submitters="demo")

    def post(self, client: Client, operation: str, **data: object) -> HttpResponse:
        return client.post("/boards/demo/console/", {"operation": operation, **data})

    def test_it_is_for_staff_or_for_demo_boards(self, client: Client, board: Board) -> None:
        assert client.get("/boards/cup/console/").status_code == 403
        client.force_login(make_player("ada"))
        assert client.get("/boards/cup/console/").status_code == 403
        client.force_login(get_user_model().objects.create_superuser("root"))
        assert "Size limit" in text_of(client.get("/boards/cup/console/"))

    def test_it_sets_adds_and_shows(self, client: Client, demo: Board) -> None:
        assert "rank 1 with 10" in text_of(
            self.post(client, "set", player_id="ada", score="10", name="Ada", country="GB")
        )
        assert "rank 1 with 15" in text_of(self.post(client, "add", player_id="ada", amount="5"))
        text_of(self.post(client, "set", player_id="ada", team="Engines"))
        assert demo.engine().get_user_entry("ada") == {
            "rank": 1,
            "user_id": "ada",
            "score": 15.0,
            "metadata": {"name": "Ada", "country": "GB", "team": "Engines"},
        }
        score(demo, "bob", 3)
        assert "2 lines" in text_of(self.post(client, "top", count="5"))
        assert "1 line" in text_of(self.post(client, "around", rank="2", count="1"))

    def test_it_sets_the_description_of_a_player(self, client: Client, demo: Board) -> None:
        score(demo, "ada", 10)
        text_of(self.post(client, "set", player_id="ada", description="Counts on engines."))
        assert demo.engine().get_user_metadata("ada") == {"description": "Counts on engines."}
        assert "Counts on engines." in text_of(client.get("/boards/demo/players/ada/"))
        too_long = self.post(client, "set", player_id="ada", description="x" * 501)
        assert "errorlist" in text_of(too_long)

    def test_a_country_may_be_typed_in_small_letters(self, client: Client, demo: Board) -> None:
        text_of(self.post(client, "set", player_id="ada", score="10", country="gb"))
        assert demo.engine().get_user_metadata("ada") == {"country": "GB"}
        assert "Two capital letters" in text_of(
            self.post(client, "set", player_id="ada", score="10", country="1b")
        )

    def test_it_names_whom_a_limit_trimmed(self, client: Client, demo: Board) -> None:
        for name, value in (("a", 3), ("b", 2), ("c", 1)):
            score(demo, name, value)
        text = text_of(self.post(client, "limit", limit="1"))
        assert "2 players were trimmed" in text
        assert "c, b" in text
        demo.refresh_from_db()
        assert demo.max_entries == 1

    def test_it_resets_sample_data(self, client: Client, demo: Board) -> None:
        score(demo, "mine", 3)
        assert "sample scores were added" in text_of(self.post(client, "reset", sure="on"))
        assert demo.engine().get_rank("mine") is None
        assert demo.engine().get_size() == 201

    def test_it_answers_in_place(self, client: Client, demo: Board) -> None:
        response = client.post(
            "/boards/demo/console/",
            {"operation": "top", "count": "3"},
            headers={"HX-Request": "true"},
        )
        assert text_of(response).lstrip().startswith('<section class="card" id="console-top">')

    @pytest.mark.parametrize(
        ("operation", "data", "said"),
        [
            ("set", {"player_id": "", "score": "1"}, "This field is required."),
            ("set", {"player_id": "a", "score": "nan"}, "Enter a number."),
            ("set", {"player_id": "a"}, "Enter a score"),
            ("set", {"player_id": "a", "score": "1", "avatar": "javascript:1"}, "https://"),
            ("set", {"player_id": "nobody", "team": "x"}, "is not on the board"),
            ("top", {"count": "0"}, "greater than or equal to 1"),
            ("limit", {"limit": "-1"}, "greater than or equal to 1"),
            ("reset", {}, "This field is required."),
        ],
    )
    def test_bad_input_changes_nothing(
        self, client: Client, demo: Board, operation: str, data: dict[str, str], said: str
    ) -> None:
        score(demo, "ada", 1)
        assert said in text_of(self.post(client, operation, **data))
        assert [one["user_id"] for one in demo.engine().get_top(5)] == ["ada"]

    def test_an_unknown_operation_is_refused(self, client: Client, demo: Board) -> None:
        assert self.post(client, "drop").status_code == 403


class TestOwn:
    def test_a_player_submits_for_themselves(self, client: Client, db: None) -> None:
        board = make_board("open", submitters="players")
        client.force_login(get_user_model().objects.create_user("ada"))
        response = client.post("/boards/open/submit/", {"score": "12"}, follow=True)
        assert "rank 1 with 12" in text_of(response)
        (entry,) = board.engine().get_top(5)
        assert entry["metadata"]["name"] == "ada"
        assert player_id_of(get_user_model().objects.get()) == entry["user_id"]

    def test_not_where_the_board_does_not_allow_it(self, client: Client, board: Board) -> None:
        client.force_login(make_player("ada"))
        assert client.get("/boards/cup/submit/").status_code == 403

    def test_a_refused_score_says_why(self, client: Client, db: None) -> None:
        make_board("open", submitters="players", highest_score=10)
        client.force_login(make_player("ada"))
        text = text_of(client.post("/boards/open/submit/", {"score": "11"}))
        assert "errorlist" in text

    def test_it_says_which_scores_count(self, client: Client, db: None) -> None:
        make_board("open", submitters="players", lowest_score=0, highest_score=1000, unit="pts")
        client.force_login(make_player("ada"))
        text = text_of(client.get("/boards/open/submit/"))
        assert "From 0 to 1,000." in text
        assert "Score (pts)" in text

    @pytest.mark.parametrize(
        ("typed", "seconds"),
        [("1:02.5", 62.5), ("1:00:02", 3602.0), ("62,5", 62.5), ("62.5", 62.5), ("1:2:3:4", None)],
    )
    def test_a_time_is_typed_as_it_is_shown(
        self, client: Client, db: None, typed: str, seconds: float | None
    ) -> None:
        board = make_board(
            "run", submitters="players", order="asc", score_format="duration", score_decimals=1
        )
        client.force_login(make_player("ada"))
        response = client.post("/boards/run/submit/", {"score": typed})
        entry = board.engine().get_user_entry("ada")
        assert (entry["score"] if entry else None) == seconds
        assert seconds is not None or "errorlist" in text_of(response)

    @pytest.mark.django_db(transaction=True)
    def test_a_profile_shows_on_every_board_at_once(self, client: Client, board: Board) -> None:
        client.force_login(make_player("ada"))
        score(board, "ada", 5, name="Ada")
        data = {"display_name": "Countess", "country": "gb", "privacy": "shown"}
        text_of(client.post("/accounts/profile/", data, follow=True))
        assert board.engine().get_user_metadata("ada")["name"] == "Countess"
        text_of(client.post("/accounts/profile/", data | {"privacy": "opted_out"}, follow=True))
        assert board.engine().get_rank("ada") is None

    def test_a_dangerous_picture_is_refused(self, client: Client, board: Board) -> None:
        client.force_login(make_player("ada"))
        data = {"display_name": "A", "privacy": "shown", "avatar": "javascript:alert(1)"}
        assert "errorlist" in text_of(client.post("/accounts/profile/", data))
        assert Player.objects.get().avatar == ""
