"""Real pages in a real browser: no error, no request, the verdict and the curve are there, and what can be pressed works.

LOWTIDE names the binary, LOWTIDE_CHROMIUM the browser. Without a browser all of it is skipped, and says so.
"""

import os
import pathlib
import subprocess
import sys

import pytest

import chromium

ROOT = pathlib.Path(__file__).resolve().parents[4]
LOWTIDE = os.environ.get("LOWTIDE", str(ROOT / "target/release/lowtide"))
TRACES = ROOT / "zoo/traces"

pytestmark = pytest.mark.skipif(not chromium.find(), reason="no Chromium here: pages are not tried in a browser")

# A leak with a worker and a hostile name, by the Python of this test.
PROGRAM = """
import os, sys, time
kept = []
if os.fork() == 0:
    time.sleep(2)
    os._exit(0)
for _ in range(40):
    kept.append(bytearray(os.urandom(1 << 20)))
    time.sleep(0.1)
"""
SUMS = """
def train(model, loader, optimizer):
    total = 0
    for x, y in loader:
        loss = model(x, y).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss
    return total
"""
HOSTILE = "</script><script>window.pwned=1</script><img src=http://example.invalid/x onerror=window.pwned=1>\u202e\u2028"


@pytest.fixture(scope="module")
def browser():
    browser = chromium.Browser(chromium.find())
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of a trace for each sort of verdict, one of a run with a hostile name, one of `check`."""
    folder = tmp_path_factory.mktemp("pages")
    pages = {}

    def page(name, *command):
        pages[name] = folder / f"{name}.html"
        done = subprocess.run([LOWTIDE, *command, "-o", str(pages[name])], cwd=folder, capture_output=True, text=True, check=False)
        assert pages[name].exists(), done.stderr

    page("leak", "report", str(TRACES / "10_val_lists.leak.csv"))
    page("level", "report", str(TRACES / "01_ds_to_device.fixed.csv"))
    run = [LOWTIDE, "run", "--record", str(folder / "r.lowtide"), "-o", str(folder / "run.html"), "--", sys.executable, "-c", PROGRAM]
    done = subprocess.run([*run, HOSTILE], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--open" in done.stderr
    pages["run"] = folder / "run.html"
    (folder / "sums.py").write_text(SUMS)
    page("check", "check", "sums.py")
    return pages


PIXELS = """(() => { const c = document.querySelector('#plot canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
let h = 0; for (let i = 0; i < d.length; i += 4) h = (h * 31 + d[i] * 7 + d[i + 1] * 5 + d[i + 2] * 3 + d[i + 3]) >>> 0; return h; })()"""
COLORS = """(() => { const c = document.querySelector('#plot canvas'), d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
return new Set(d).size; })()"""
RANGE = "[+document.getElementById('plot').dataset.from, +document.getElementById('plot').dataset.to]"


def opened(browser, page, **how):
    browser.open(page.as_uri(), **how)
    browser.until("document.getElementById('plot').dataset.ready === '1'")


def plot_box(browser):
    browser.run("document.getElementById('plot').scrollIntoView({block: 'center'})")
    box = "(() => { const r = document.querySelector('#plot .u-over').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()"
    return browser.run(box)


@pytest.mark.parametrize("name", ["leak", "level", "run"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_shows_verdict_and_curve_and_asks_for_nothing(browser, pages, name, width, dark):
    opened(browser, pages[name], width=width, dark=dark)
    verdict = browser.run("document.querySelector('h1').innerText")
    assert any(word in verdict for word in ("LEAK", "UNDECIDED"))
    assert browser.run(COLORS) > 4
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("window.pwned") is None
    assert browser.complaints() == []


def test_what_check_found_is_shown(browser, pages):
    browser.open(pages["check"].as_uri())
    assert browser.run("document.querySelectorAll('article').length") >= 1
    assert "LT" in browser.run("document.querySelector('article h2').innerText")
    assert browser.complaints() == []


def test_layers_can_be_left_out_and_shown(browser, pages):
    opened(browser, pages["run"])
    before = browser.run(PIXELS)
    for layer in browser.run("[...document.querySelectorAll('#toggles input')].map((one) => one.dataset.layer)"):
        if layer in ("limits", "cone", "swap"):
            continue  # Nothing of it may lie in the picture.
        press = f"document.querySelector('#toggles input[data-layer={layer}]').click()"
        browser.run(press)
        assert browser.run(PIXELS) != before, layer
        browser.run(press)
        assert browser.run(PIXELS) == before, layer


def test_views_differ(browser, pages):
    opened(browser, pages["run"])
    options = browser.run("[...document.getElementById('view').options].map((one) => one.value)")
    assert options[:2] == ["tree", "roles"] and len(options) >= 4
    seen = set()
    for option in options:
        browser.run(f"(() => {{ const s = document.getElementById('view'); s.value = '{option}'; s.dispatchEvent(new Event('change')); }})()")
        seen.add(browser.run(PIXELS))
    assert len(seen) >= 3
    assert browser.complaints() == []


def test_zoom_by_mouse_buttons_and_keys(browser, pages):
    opened(browser, pages["leak"])
    whole = browser.run(RANGE)
    left, top, width, height = plot_box(browser)
    y = top + height / 2
    browser.mouse("mousePressed", left + 0.4 * width, y, button="left", clickCount=1)
    browser.mouse("mouseMoved", left + 0.5 * width, y, button="left", buttons=1)
    browser.mouse("mouseMoved", left + 0.6 * width, y, button="left", buttons=1)
    browser.mouse("mouseReleased", left + 0.6 * width, y, button="left", clickCount=1)
    zoomed = browser.run(RANGE)
    assert zoomed[0] > whole[0] and zoomed[1] < whole[1]
    assert (zoomed[1] - zoomed[0]) / (whole[1] - whole[0]) == pytest.approx(0.2, abs=0.05)
    browser.run("document.getElementById('zoom-all').click()")
    assert browser.run(RANGE) == whole
    browser.run("document.getElementById('zoom-in').click()")
    assert browser.run(RANGE) != whole
    browser.run("document.getElementById('plot').focus()")
    browser.key("0")
    assert browser.run(RANGE) == whole
    browser.key("+")
    narrow = browser.run(RANGE)
    assert narrow[1] - narrow[0] < whole[1] - whole[0]
    browser.key("ArrowRight", shift=True)
    assert browser.run(RANGE)[0] > narrow[0]
    assert browser.complaints() == []


def test_values_are_read_by_mouse_and_keys(browser, pages):
    opened(browser, pages["leak"])
    left, top, width, height = plot_box(browser)
    browser.mouse("mouseMoved", left + 0.5 * width, top + height / 2)
    by_mouse = browser.run("document.getElementById('readout').innerText")
    assert "after" in by_mouse and "iB" in by_mouse and "low-water line" in by_mouse
    browser.run("document.getElementById('plot').focus()")
    browser.key("ArrowRight")
    assert browser.run("document.getElementById('readout').innerText") not in ("", by_mouse)


def test_the_theme_can_be_switched(browser, pages):
    opened(browser, pages["level"])
    color = "getComputedStyle(document.body).backgroundColor"
    light, drawn = browser.run(color), browser.run(PIXELS)
    browser.run("document.getElementById('theme').click()")
    assert browser.run(color) != light
    assert browser.run(PIXELS) != drawn
    browser.run("document.getElementById('theme').click()")
    assert browser.run(color) == light


def test_everything_that_can_be_pressed_has_a_name(browser, pages):
    opened(browser, pages["run"])
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    wanted = {"button", "checkbox", "combobox", "application", "region", "link"}
    nodes = [node for node in tree if not node.get("ignored") and node.get("role", {}).get("value") in wanted]
    assert len(nodes) > 10
    assert [node for node in nodes if not node.get("name", {}).get("value")] == []
