"""Why something that a message shows or links to was not read, as it stands below the reply to it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_WHAT_IS_UNREAD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "file_below": "(It stands below, as `{name}`.)",
        "file_refused": "(I could not read {names}: {why}.)",
        "file_too_large": "it has {size} MB, and {most} MB are the most that I take",
        "file_one_too_many": "I read {most} files of one message",
        "file_elsewhere": "it does not lie with the platform, and I fetch nothing from elsewhere",
        "file_gone": "it is no longer there, or I may not open it",
        "file_late": "it could not be fetched or opened in time",
        "file_strange": "it is no picture, recording, document, table or text that I know",
        "file_misnamed": "it is not what its name says",
        "file_damaged": "it is damaged",
        "file_too_big_inside": "it is too large once it is unpacked",
        "file_protected": "it is protected by a password; send a copy without one",
        "file_no_text": "it holds no text",
        "file_only_pictures": "its pages are pictures without text; send these, or a copy with text (OCR)",
        "file_other_format": "its format is not read; save it as docx, xlsx, pptx or PDF",
        "file_heic": "it is a HEIC picture, and I can't open those; send it as JPEG or PNG",
        "file_unheard": "no way to listen to recordings is set up for me",
        "file_not_heard": "it could not be listened to just now",
        "file_canvas": "it is a canvas, and I can't open those; paste what matters of it",
        "file_list": "it is a list, and I can't open those; paste what matters of it",
        "link_canvas": "it is a canvas, and I can't open those; paste what matters of it",
        "link_list": "it is a list, and I can't open those; paste what matters of it",
        "link_file": "I open files that are sent along, and no links to them",
        "link_huddle": "it is a huddle, and I can't listen to those",
        "link_hidden": "it is not there, or not for everybody who reads this",
        "link_gone": "what stood there is no longer there",
        "link_elsewhere": "it belongs to another workspace",
        "link_not_in": "I am not in that channel; invite me there and ask again",
        "link_late": "Slack did not show it to me just now; ask again in a while",
        "link_one_too_many": "I follow {most} links to messages at a time",
    }
)
