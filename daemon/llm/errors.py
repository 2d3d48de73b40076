"""The translation of errors of SDKs, HTTP and garbled answers into two model errors, without the API key."""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from daemon.core.errors import ModelError, ModelRefused, ModelUnavailable, NoAccess, StillLoading
from daemon.core.http import OversizedResponseError
from daemon.core.text import one_line
from daemon.llm.answers import ModelId, Vendor
from daemon.llm.endpoint import Endpoint, clean

_LONGEST_QUOTE = 200
_NO_ACCESS = frozenset((HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND))
_PASSING_STATUSES = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)
_LAST_STATUS = 599
_TOO_LONG = ("context length", "context_length", "context window", "prompt is too long", "too many tokens")
_FLAGGED = ("flag", "moderation", "content", "policy", "guardrail", "safety", "refus", "blocked")
_NO_CREDIT = ("insufficient_quota", "credit balance", "billing")
_PERMANENT_KINDS = frozenset(
    {
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
        "billing_error",
    }
)

# An answer that is not JSON, not UTF-8, or unexpected JSON.
_GARBLED = (ValueError, TypeError, AttributeError, LookupError)

# Words by which back-ends name the refused part of a request, which is then sent without that part. A message may
# name two parts, such as a temperature with thinking: the first in this table is left out.
_FEATURE_WORDS: Mapping[str, tuple[str, ...]] = {
    "images": ("image", "vision", "multimodal"),
    "json_schema": ("response_format", "json_schema", "output_config.format", "output_format", "structured output"),
    "temperature": ("temperature", "top_p", "top_k"),
    "thinking": ("thinking", "budget_tokens"),
    "effort": ("effort",),
    "usage": ("stream_options", "include_usage"),
    "cache_key": ("prompt_cache_key",),
    "cache_marks": ("cache_control",),
    "old_limit": ("max_completion_tokens",),
    "system_role": (
        "system role",
        "role system",
        "role 'system'",
        'role "system"',
        "role: system",
        "system message",
        "system instruction",
        "developer instruction",
        "roles must alternate",
        "only user and assistant roles",
    ),
}
_SCHEMA_SIZE = ("compiled grammar is too large", "too many optional parameters")
_MADE_OF_SCHEMAS = ("grammar", "schema", "structured output", "guided decoding", "required for format")
_LIMIT_WORDS = ("max_tokens", "max_completion_tokens", "output tokens", "completion tokens")
_CONTEXT = re.compile(r"(?:context (?:length|window|size)(?: is| of)?|>) ?([0-9][0-9,_]*)")
_LOADING = re.compile(r"\b(?:loading|being loaded|warming up|starting up)\b", re.IGNORECASE)
_SMALLEST_LIMIT = 256  # smaller numbers in a refusal are no output limit
_NUMBER = re.compile(r"(?<![\w.-])\d[\d,_]*(?![\w-]|\.\d)")


@contextmanager
def translated(endpoint: Endpoint, model: ModelId, *sdk_errors: type[Exception]) -> Iterator[None]:
    """Raise only ModelUnavailable and ModelRefused from a block that talks to an endpoint.

    The cause is kept unless its text holds the key.
    """
    import httpx2

    foreign: tuple[type[Exception], ...] = (httpx2.HTTPError, httpx2.InvalidURL, OversizedResponseError, *_GARBLED)
    try:
        yield
    except ModelError:
        raise
    except (*sdk_errors, *foreign) as error:
        raise translate(error, endpoint, model) from (None if _holds_key(error, endpoint) else error)


def translate(error: Exception, endpoint: Endpoint, model: ModelId) -> ModelError:
    """Return the ModelUnavailable or ModelRefused for an error."""
    import httpx2

    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= HTTPStatus.MULTIPLE_CHOICES:
        return _from_status(status, error, endpoint, model)
    body = _details(error)
    if body:
        return _from_event(body, error, endpoint, model)
    root = _root(error)
    if isinstance(root, OversizedResponseError):
        return ModelUnavailable(f"{model.full} sent {root}", hint="choose another model if this goes on")
    if isinstance(root, _GARBLED):
        return ModelUnavailable(f"{model.full} sent an answer that can't be read", hint=_look_at_url(endpoint))
    if isinstance(root, httpx2.ReadError | httpx2.RemoteProtocolError):
        return ModelUnavailable(f"{model.full} broke off in the middle of its answer", hint="try again")
    return ModelUnavailable(f"{endpoint.vendor} can't be reached", hint=_look_at_url(endpoint))


def refuses_schema(error: Exception) -> bool:
    """Return True if a 400 or 422 refuses this schema for its size, while a smaller one would pass."""
    return _is_bad_request(error) and _any(_SCHEMA_SIZE, _message(error).lower())


def may_refuse_schema(error: Exception) -> bool:
    """Return True if a refusal may concern the schema. The wording differs with each back-end.

    That is a 400 or 422 about anything but length and credit, or a server failure that names a grammar or a schema.
    """
    if _is_bad_request(error):
        return not _mentions(error, (*_TOO_LONG, *_NO_CREDIT))
    return _failed(error) and _any(_MADE_OF_SCHEMAS, _message(error).lower())


def refused_feature(error: Exception, offered: Collection[str]) -> str | None:
    """Return the optional part of a request that a 400 or 422 refuses, or None for any other error.

    Some servers report a template without a system role as their own failure.
    """
    if not _is_bad_request(error):
        offered = {"system_role"} & set(offered) if _failed(error) else ()
    text = _message(error).lower()
    if _any(_TOO_LONG, text):
        return None
    return next((name for name, words in _FEATURE_WORDS.items() if name in offered and _any(words, text)), None)


def allowed_limit(error: Exception, asked: int) -> int | None:
    """Return the output limit in tokens that a 400 or 422 names instead of the requested one, or None."""
    if not _is_bad_request(error):
        return None
    text = _message(error).lower()
    if not _any(_LIMIT_WORDS, text) or _any((*_TOO_LONG, "context limit"), text):
        return None
    return max((each for each in _numbers(text) if _SMALLEST_LIMIT <= each < asked), default=None)


def room_left(error: Exception, asked: int) -> int | None:
    """Return the tokens that a prompt leaves of a model's context, by a 400 or 422 that states them, or None.

    The error names the limit that was `asked` for, the context and the prompt, and perhaps the sum of limit and prompt.
    """
    text = _message(error).lower()
    if not _is_bad_request(error) or not _any((*_TOO_LONG, "context limit"), text):
        return None
    window, numbers = _CONTEXT.search(text), set(_numbers(text))
    if window is None or asked not in numbers:
        return None
    context = _numbers(window[1])[0]
    prompts = {each for each in numbers - {asked, context} if each - asked not in numbers}
    room = context - prompts.pop() if len(prompts) == 1 else 0
    return room if _SMALLEST_LIMIT <= room < asked else None


def _numbers(text: str) -> list[int]:
    return [int(found.replace(",", "").replace("_", "")) for found in _NUMBER.findall(text)]


def _is_bad_request(error: Exception) -> bool:
    return getattr(error, "status_code", None) in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


def _failed(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    return isinstance(status, int) and status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _any(words: tuple[str, ...], text: str) -> bool:
    return any(word in text for word in words)


def _from_status(status: int, error: Exception, endpoint: Endpoint, model: ModelId) -> ModelError:
    out_of_credit = status == HTTPStatus.PAYMENT_REQUIRED or _mentions(error, _NO_CREDIT)
    if (status in _PASSING_STATUSES and not out_of_credit) or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        crowded = status == HTTPStatus.TOO_MANY_REQUESTS
        what = "asks for fewer requests" if crowded else f"failed with status {status}"
        if status == HTTPStatus.SERVICE_UNAVAILABLE and _LOADING.search(str(error)):
            return StillLoading(
                f"{endpoint.vendor} still loads {model.name}", hint="wait until it has", retry_after=_retry_after(error)
            )
        return ModelUnavailable(f"{endpoint.vendor} {what}", hint="try again later", retry_after=_retry_after(error))
    if out_of_credit:
        return NoAccess(f"{endpoint.vendor} says that there is no credit left", hint="top up the account's credit")
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or _mentions(error, _TOO_LONG):
        return ModelRefused(f"the prompt is too long for {model.full}", hint="choose a model with a larger context")
    message, hint = _refusal(status, error, endpoint, model)
    return (NoAccess if _is_for_the_admin(status, error) else ModelRefused)(message, hint=hint)


def _is_for_the_admin(status: int, error: Exception) -> bool:
    if status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND} and _mentions(error, (*_FLAGGED, "endpoints found")):
        return False
    return status in _NO_ACCESS or status < HTTPStatus.BAD_REQUEST


def _refusal(status: int, error: Exception, endpoint: Endpoint, model: ModelId) -> tuple[str, str]:
    """Return the message and the hint for a status that a retry can't change."""
    vendor, key, url = endpoint.vendor, endpoint.key_variable or endpoint.url_variable, endpoint.url_variable
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return f"{vendor} does not accept the key", f"check {key}"
        case HTTPStatus.FORBIDDEN:
            return f"{vendor} does not let this key use {model.name}", f"check {key} and what it is allowed to do"
        case HTTPStatus.NOT_FOUND:
            hint = f"check SOUL_PERSONA_MODEL and SOUL_THINKING_MODEL, then {url}"
            return f"{vendor} does not know the model {model.name}", hint
        case _ if status < HTTPStatus.BAD_REQUEST:
            return f"{vendor} redirects requests to another address", f"correct {url}"
        case _:
            quote = _quoted(_message(error), endpoint)
            hint = f"check that {model.name} is a chat model and that {url} is right"
            return f"{vendor} refused the request with status {status}{quote}", hint


def _from_event(body: Mapping[str, object], error: Exception, endpoint: Endpoint, model: ModelId) -> ModelError:
    code = body.get("code")  # OpenRouter gives the status of the model's host here
    if isinstance(code, int) and HTTPStatus.BAD_REQUEST <= code <= _LAST_STATUS:
        return _from_status(code, error, endpoint, model)
    if body.get("type") in _PERMANENT_KINDS:
        quote = _quoted(_message(error), endpoint)
        return ModelRefused(
            f"{endpoint.vendor} gave up on the request{quote}", hint="look at the prompt and the settings"
        )
    return ModelUnavailable(f"{model.full} failed in the middle of its answer", hint="try again")


def _root(error: Exception) -> BaseException:
    """Return the cause of an SDK's connection error: the HTTP library's error, or ours from inside a response."""
    import httpx2

    root: BaseException = error
    while root.__cause__ is not None and not isinstance(root, httpx2.HTTPError | OversizedResponseError):
        root = root.__cause__
    return root


def _details(error: Exception) -> Mapping[str, object]:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _message(error: Exception) -> str:
    message = _details(error).get("message")
    return clean(message) if isinstance(message, str) else ""


def _mentions(error: Exception, words: tuple[str, ...]) -> bool:
    details = _details(error)
    text = f"{details.get('message')} {details.get('code')} {details.get('type')}".lower()
    return any(word in text for word in words)


def _quoted(text: str, endpoint: Endpoint) -> str:
    line = one_line(text)
    key = endpoint.api_key.get_secret_value()
    return f": {line[:_LONGEST_QUOTE]}" if line and key not in text else ""


def _holds_key(error: Exception, endpoint: Endpoint) -> bool:
    key = endpoint.api_key.get_secret_value()
    return bool(endpoint.key_variable) and key in f"{error!s}{error!r}{getattr(error, 'body', '')!r}"


def _look_at_url(endpoint: Endpoint) -> str:
    if endpoint.vendor is Vendor.OLLAMA:
        return f"start Ollama with `ollama serve`, or correct {endpoint.url_variable}"
    if endpoint.vendor is Vendor.LOCAL:
        return f"start the model server, or correct {endpoint.url_variable}"
    return f"check the network and {endpoint.url_variable}"


def _retry_after(error: Exception) -> float | None:
    """Return the seconds until the provider allows a retry. A date counts from the response's own date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _seconds(float(milliseconds) / 1000)
        return _seconds(float(headers.get("retry-after", "")))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
        return _seconds((until - parsedate_to_datetime(headers.get("date", ""))).total_seconds())
    except (ValueError, TypeError):
        return None


def _seconds(seconds: float) -> float | None:
    return max(0.0, seconds) if math.isfinite(seconds) else None
