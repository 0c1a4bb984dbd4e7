"""A sheet as an HTML page: originals next to their augmentations, with a slider for the epoch."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence

from orbbec.cli.preview.drawing import Shown, draw_shown

_STYLE = """
:root { color-scheme: light dark;
  --paper: #fbfaf8; --ink: #1d1d1f; --faint: #6f6c66; --line: #e2dfd8; --card: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #17181a; --ink: #ececea; --faint: #9b9892; --line: #33353a; --card: #202226; }
}
* { box-sizing: border-box; }
body { margin: 0; font: 14px/1.45 system-ui, sans-serif; background: var(--paper); color: var(--ink); }
header { position: sticky; top: 0; z-index: 1; padding: 12px 24px;
  display: flex; flex-wrap: wrap; gap: 8px 20px; align-items: center;
  background: var(--paper); border-bottom: 1px solid var(--line); }
h1 { margin: 0; font-size: 16px; }
h1 span { margin-left: 10px; color: var(--faint); font-weight: normal; }
.controls { display: flex; flex: 1 1 300px; gap: 12px; align-items: center; max-width: 560px; }
.controls label { white-space: nowrap; }
input[type=range] { flex: 1; min-width: 100px; accent-color: #2f7de1; }
output { min-width: 5.5em; font-variant-numeric: tabular-nums; }
button { min-width: 4.5em; padding: 4px 12px; font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--line); border-radius: 6px; cursor: pointer; }
main { display: flex; flex-wrap: wrap; gap: 16px; padding: 20px 24px; }
article { padding: 12px; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
article > h2 { margin: 0 0 8px; max-width: calc(2 * var(--side) + 12px); font-size: 13px; font-weight: 600;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.pair { display: flex; gap: 12px; }
figure { margin: 0; width: var(--side); }
figure div { display: flex; align-items: center; justify-content: center;
  height: var(--side); background: var(--paper); }
figure img { display: block; max-width: 100%; }
figcaption { margin-top: 4px; color: var(--faint); font-size: 12px;
  white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
img[hidden] { display: none; }
details { padding: 0 24px 24px; color: var(--faint); }
pre { overflow-x: auto; font-size: 12px; }
@media (max-width: 640px) {
  header, main { padding-left: 12px; padding-right: 12px; }
  article { width: 100%; }
  article > h2 { max-width: 100%; }
  figure { flex: 1; width: 50%; }
  figure div { height: auto; aspect-ratio: 1; }
}
"""

# Shows the pictures of the epoch that the slider is at; the button moves the slider.
_SCRIPT = """
const slider = document.querySelector("input"), output = document.querySelector("output");
const button = document.querySelector("button");
function show() {
  output.value = "epoch " + (Number(slider.dataset.first) + Number(slider.value));
  for (const picture of document.querySelectorAll("[data-draw]"))
    picture.hidden = picture.dataset.draw !== slider.value;
}
let timer = null;
function stop() {
  clearInterval(timer);
  timer = null;
  button.textContent = "Play";
}
slider.addEventListener("input", () => { stop(); show(); });
button.addEventListener("click", () => {
  if (timer !== null) return stop();
  button.textContent = "Stop";
  timer = setInterval(() => {
    slider.value = (Number(slider.value) + 1) % (Number(slider.max) + 1);
    show();
  }, 700);
});
show();
"""


def sheet_as_html(
    rows: Sequence[Sequence[Shown]],
    text: str = "",
    side: int = 192,
    box_format: str = "xyxy",
    *,
    title: str = "Preview",
    epoch: int = 0,
) -> str:
    """An HTML page in one file that loads nothing.

    Args:
        rows: for each image, the original and one picture per epoch.
        text: shown below the pictures.
        side: side of the square for each picture, in pixels.
        box_format: format of the boxes, see `TargetOptions`.
        title: heading of the page, such as the name of the pipeline.
        epoch: the first epoch.
    """
    draws = max((len(row) - 1 for row in rows), default=0)
    last = max(draws - 1, 0)
    slider = (
        f'<label for="epoch">Epoch</label><input id="epoch" type="range" min="0" max="{last}" value="0" '
        f'data-first="{epoch}"><output for="epoch">epoch {epoch}</output><button type="button">Play</button>'
    )
    return "\n".join(
        [
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8"><title>{html.escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{_STYLE}:root {{ --side: {side}px; }}</style>",
            f"<header><h1>{html.escape(title)}<span>orbbec preview</span></h1>",
            f'<div class="controls">{slider}</div></header>' if draws else "</header>",
            "<main>",
            *(_card(row, side, box_format) for row in rows),
            "</main>",
            f"<details><summary>The plan of epoch {epoch}</summary><pre>{html.escape(text)}</pre></details>",
            f"<script>{_SCRIPT}</script>" if draws else "",
            "</html>\n",
        ]
    )


def _card(row: Sequence[Shown], side: int, box_format: str) -> str:
    original, draws = row[0], row[1:]
    pictures = "".join(_picture(shown, side, box_format, n) for n, shown in enumerate(draws))
    size = f"{original.image.shape[0]}x{original.image.shape[1]}"
    after = f"{draws[0].image.shape[0]}x{draws[0].image.shape[1]}" if draws else ""
    name = html.escape(original.caption.rpartition(",")[0] or original.caption)
    return (
        f'<article><h2 title="{name}">{name}</h2><div class="pair">'
        f"<figure><div>{_picture(original, side, box_format)}</div>{_size('original, ' + size)}"
        f"</figure><figure><div>{pictures}</div>{_size(after)}</figure></div></article>"
    )


def _size(text: str) -> str:
    return f'<figcaption title="height x width">{text}</figcaption>'


def _picture(shown: Shown, side: int, box_format: str, draw: int | None = None) -> str:
    file = io.BytesIO()
    draw_shown(shown, side, box_format).save(file, "WEBP", quality=90, method=4)
    source = f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"
    caption = html.escape(shown.caption, quote=True)
    of_epoch = "" if draw is None else f' data-draw="{draw}"' + (" hidden" if draw else "")
    return f'<img src="{source}" alt="{caption}" title="{caption}"{of_epoch}>'
