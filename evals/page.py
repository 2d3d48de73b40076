"""The report as one HTML file: figures, every transcript with its checks; no script, nothing from elsewhere."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

from evals.checks import states_of
from evals.run import Rehearsal, Run
from evals.scenario import Category
from evals.seen import Check, Figures, Played, PlayedTurn, figures_of
from evals.table import failures, shown_money, shown_score, verdict

_STYLE: Final = Path(__file__).with_name("page.css")
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_FIGURES: Final = ("calls", "tokens in", "cached", "out", "USD", "s")


def page(run: Run, host: dict[str, str]) -> str:
    """The whole document."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>Scenarios: {escape(run.order.model.names)}</title>",
            f"<style>{_STYLE.read_text(encoding='utf-8')}</style>",
            "</head>",
            "<body>",
            *_head(run, host),
            *_summary(run),
            *(line for number, play in enumerate(run.plays) for line in _play(number, play, run.order.rehearsal)),
            "</body>",
            "</html>\n",
        ]
    )


def _head(run: Run, host: dict[str, str]) -> Iterator[str]:
    total, played = figures_of(run.plays), len(run.plays)
    passed = sum(play.passed for play in run.plays)
    yield "<header>"
    yield "<h1>How the soul did in its scenarios</h1>"
    what = f"{passed} of {played} scenarios passed, {total.all.passed} of {total.all.total} checks."
    yield f"<p class='lead'>{escape(what)}</p>"
    rehearsal, model = run.order.rehearsal, run.order.model
    by = f"No model: the files' own {rehearsal} samples answered" if rehearsal else model.names
    system = ", ".join(f"{name} {value}" for name, value in host.items() if name in ("date", "system", "python"))
    yield f"<p>{escape(f'{by}. Soul {model.soul.name}. {system}.')}</p>"
    if run.stopped:
        yield f"<p class='warning'>Stopped before all were played: {escape(run.stopped)}.</p>"
    yield "<dl class='tiles'>"
    for category in Category:
        score = total.scores[category]
        share = "none" if score.share is None else f"{score.share:.0%}"
        yield f"<div><dt>{category}</dt><dd>{share}</dd><dd class='small'>{shown_score(score) or 'no check'}</dd></div>"
    per_message = total.calls / total.messages if total.messages else 0.0
    calls = f"{per_message:.2f} a message"
    yield f"<div><dt>calls</dt><dd>{total.calls:,}</dd><dd class='small'>{calls}</dd></div>"
    tokens = f"{total.tokens_cached:,} cached, {total.tokens_out:,} out"
    yield f"<div><dt>tokens in</dt><dd>{total.tokens_in:,}</dd><dd class='small'>{tokens}</dd></div>"
    unpriced = f"at most: {total.unpriced} calls of unknown price" if total.unpriced else "all calls priced"
    yield f"<div><dt>US dollars</dt><dd>{total.usd:.4f}</dd><dd class='small'>{unpriced}</dd></div>"
    yield "</dl></header>"


def _summary(run: Run) -> Iterator[str]:
    names = ("scenario", "", *Category, *_FIGURES)
    yield "<div class='wide'><table><thead><tr>"
    yield "".join(f"<th scope='col'>{name}</th>" for name in names)
    yield "</tr></thead><tbody>"
    for number, play in enumerate(run.plays):
        name = escape(play.scenario.name) + (f" #{play.repeat}" if play.repeat > 1 else "")
        mark = verdict(play)
        yield f"<tr><th scope='row'><a href='#s{number}'>{name}</a></th>"
        yield f"<td class='{mark.replace(' ', '-')}'>{mark}</td>"
        yield f"{''.join(_cells(figures_of([play])))}</tr>"
    yield "</tbody><tfoot><tr><th scope='row'>all</th><td></td>"
    yield f"{''.join(_cells(figures_of(run.plays)))}</tr></tfoot></table></div>"


def _cells(figures: Figures) -> Iterator[str]:
    for category in Category:
        score = figures.scores[category]
        failed = score.share is not None and score.passed < score.total
        mark = " class='FAIL'" if failed else ""
        yield f"<td{mark}>{shown_score(score)}</td>"
    for count in (figures.calls, figures.tokens_in, figures.tokens_cached, figures.tokens_out):
        yield f"<td>{count:,}</td>"
    yield f"<td>{shown_money(figures)}</td><td>{figures.seconds:.0f}</td>"


def _play(number: int, play: Played, rehearsal: Rehearsal) -> Iterator[str]:
    mark = verdict(play)
    yield f"<details id='s{number}'{'' if mark == 'pass' else ' open'}>"
    title = f"{escape(play.scenario.title)} <span class='name'>{escape(play.scenario.name)}</span>"
    yield f"<summary><span class='{mark.replace(' ', '-')}'>{mark}</span> {title}</summary>"
    yield f"<p class='about'>{escape(play.scenario.about)}</p>"
    if play.broke_off:
        yield f"<p class='warning'>It broke off: {escape(play.broke_off)}</p>"
    for turn in play.turns:
        yield from _turn(turn)
    yield from _checks(play.checks, "of the whole")
    if rehearsal is Rehearsal.WRONG:
        for line in failures(play, rehearsal):
            yield f"<p class='warning'>{escape(line)}</p>"
    yield "</details>"


def _turn(played: PlayedTurn) -> Iterator[str]:
    turn = played.turn
    if turn.waits is not None:
        yield f"<p class='aside'>{turn.waits:g} seconds pass.</p>"
    elif turn.deletes is not None:
        yield f"<p class='aside'>{escape(turn.who)} deletes the message of turn {turn.deletes}.</p>"
    else:
        done = " edits it" if turn.edits else ""
        yield _bubble("person", f"{turn.who}{done}, {_place(played.place)}", str(turn.says))
    for post in played.posts:
        yield _bubble("soul", f"soul, {_place(post.place)}", post.text)
    rows = played.rows
    if rows.calls or rows.path:
        states = " → ".join(states_of(rows.path)) or "no state"
        steps = ", ".join(call.step if call.outcome == "ok" else f"{call.step} ({call.outcome})" for call in rows.calls)
        tools = f" · tools {', '.join(played.tools)}" if played.tools else ""
        tokens = (
            f"{sum(call.tokens_in for call in rows.calls):,} + {sum(call.tokens_out for call in rows.calls):,} tokens"
        )
        figures = f"{states} · {steps or 'no call'} · {tokens} · {played.seconds:.1f} s{tools}"
        yield f"<p class='figures'>{escape(figures)}</p>"
    yield from _checks(played.checks, "of this turn")


def _place(place: str) -> str:
    return f"in the DM of {place.removeprefix('dm:')}" if place.startswith("dm:") else f"in #{place}"


def _bubble(kind: str, who: str, text: str) -> str:
    return (
        f"<div class='{kind}'><span class='who'>{escape(who)}</span>"
        f"<div class='text' dir='auto'>{escape(text)}</div></div>"
    )


def _checks(checks: tuple[Check, ...], title: str) -> Iterator[str]:
    if not checks:
        return
    yield f"<ul class='checks' title='{escape(title)}'>"
    for one in checks:
        sign = "✓" if one.passed else "✗"
        seen = "" if one.passed else f" <span class='seen'>{escape(one.seen)}</span>"
        mark = "pass" if one.passed else "FAIL"
        yield (
            f"<li class='{mark}'><span class='sign'>{sign}</span> <b>{one.category}</b> {escape(one.wanted)}{seen}</li>"
        )
    yield "</ul>"
