"""Opens a page of `ptxrun --report` in a headless browser and checks what appears.

Usage: page.py BROWSER PAGE SHOT VERDICT [WIDTHxHEIGHT TEXELS] TEXT...

A copy of the page gets a script that writes what the browser made of it into the document, which
`--dump-dom` prints: whether pictures are decoded, their pixels, what lies beyond the window, what
was loaded, in a window and as narrow as a telephone. SHOT is written, a picture of the window for
people. VERDICT stands in the heading, each TEXT somewhere on the page. The first picture has WIDTH
x HEIGHT pixels, which are those of TEXELS, four bytes each.
"""

import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SCRIPT = """
<script>
addEventListener("load", () => {
  const phone = document.createElement("iframe");
  phone.style = "width: 360px; height: 640px";
  const page = document.documentElement.cloneNode(true);
  page.querySelector("script[data-test]").remove();
  phone.srcdoc = page.outerHTML;
  phone.onload = () => tell(phone.contentDocument.documentElement);
  document.body.append(phone);
});
const tell = phone => {
  const pixels = image => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    if (!canvas.width) return [];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return [...context.getImageData(0, 0, canvas.width, canvas.height).data];
  };
  const heading = document.querySelector("h1"), verdict = document.querySelector("h1 span");
  const seen = {
    title: document.title,
    heading: heading.textContent,
    verdict: verdict.textContent,
    colour: getComputedStyle(verdict).color,
    text: document.body.innerText,
    images: [...document.images].map(image => ({
      width: image.naturalWidth, height: image.naturalHeight, shown: image.width,
      label: image.alt, pixels: pixels(image)})),
    loaded: performance.getEntriesByType("resource").map(entry => entry.name)
      .filter(name => !name.startsWith("data:")),
    wide: [document.documentElement, phone].map(page => page.scrollWidth - page.clientWidth),
    quirks: document.compatMode != "CSS1Compat",
    foreign: document.querySelectorAll("script:not([data-test]), iframe, object, [onerror]").length - 1,
  };
  document.querySelector("iframe").remove();
  const place = document.createElement("pre");
  place.id = "seen";
  place.style.display = "none";
  place.textContent = JSON.stringify(seen);
  document.body.append(place);
};
</script>
"""


def browse(browser, page, shot):
    """The document as the browser has it in the end."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
             "--window-size=1000,900", "--virtual-time-budget=10000", "--dump-dom",
             f"--screenshot={shot}", page.as_uri()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        if done.returncode:
            sys.exit(f"the browser ended with {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()


def problems(seen, verdict, size, texels, texts):
    if verdict != seen["verdict"]:
        yield f"the verdict is {seen['verdict']!r}"
    if not seen["title"].endswith(": " + verdict):
        yield f"the title is {seen['title']!r}"
    # Green or red, as the computed style has it.
    red, green = map(int, re.findall(r"\d+", seen["colour"])[:2])
    if (green > red) != (verdict == "passed"):
        yield f"the verdict's colour is {seen['colour']}"
    for name in texts:
        if name not in seen["text"]:
            yield f"{name!r} is not on the page: {seen['text']}"
    for image in seen["images"]:
        if not image["width"] or not image["label"]:
            yield f"a picture does not appear: {image['width']} x {image['height']}"
        if image["shown"] < 100:
            yield f"a picture is {image['shown']} pixels wide, too small to see"
    if texels:
        if not seen["images"]:
            yield "there is no picture"
        elif (seen["images"][0]["width"], seen["images"][0]["height"]) != size:
            yield "the picture has another size"
        elif seen["images"][0]["pixels"] != list(texels):
            yield f"the picture shows {seen['images'][0]['pixels'][:16]}, not {list(texels[:16])}"
    # Another output than expected has the picture of where, which is white in one place.
    if verdict == "an output differs":
        where = seen["images"][1]["pixels"][0::4] if len(seen["images"]) > 1 else []
        if [k for k, value in enumerate(where) if value] != [8] or where[8] != 255:
            yield f"the difference is shown as {where}"
    if seen["loaded"]:
        yield f"the page loads {seen['loaded']}"
    if any(wide > 0 for wide in seen["wide"]):
        yield f"the page is {seen['wide']} pixels wider than a window and a telephone"
    if seen["quirks"] or seen["foreign"]:
        yield "the page has what it should not: scripts, frames, or no document type"


def main():
    browser, page, shot, verdict, *rest = sys.argv[1:]
    size, texels = None, None
    if rest and re.fullmatch(r"\d+x\d+", rest[0]):
        size = tuple(map(int, rest[0].split("x")))
        texels, rest = pathlib.Path(rest[1]).read_bytes(), rest[2:]
    text = pathlib.Path(page).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "page.html"
        copy.write_text(text.replace("</body>", SCRIPT.replace("<script>", "<script data-test>") + "</body>"),
                        encoding="utf-8")
        dump = browse(browser, copy, shot)
    found = re.search(r'<pre id="seen"[^>]*>(.*)</pre>', dump, re.S)
    if not found:
        sys.exit(f"the page's script did not run: {dump[-400:]}")
    wrong = list(problems(json.loads(html.unescape(found[1])), verdict, size, texels, rest))
    for each in wrong:
        print(each)
    sys.exit(bool(wrong))


main()
