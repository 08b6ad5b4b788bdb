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
RECORDINGS = pathlib.Path(__file__).parent / "recordings"

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
# Recordings of real runs, and what their pages must say at first sight.
REAL = {
    "10.leak": ("LEAK", "Trainer.all_boxes", "10_val_lists.py:47"),
    "10.fixed": ("NO LEAK",),
    "19.leak": ("NO LEAK", "spikes of up to 400 MiB"),
    "20.leak": ("UNDECIDED",),
    "25.leak": ("LEAK", "DataLoader worker", "25_worker_leak.py:34"),
    "38.fixed": ("NO LEAK",),
    "40.leak": ("LIKELY LEAK", "number of live processes rose", "40_zombie_workers.py:44"),
    "finetune.leak": ("LEAK", "trainer.scores", "self.scores.append(score)"),
    "gpu.leak": ("LEAK", "memory of GPU 0", "more tensors stay alive"),
}
HOSTILE = "</script><script>window.pwned=1</script><img src=http://example.invalid/x onerror=window.pwned=1>\u202e\u2028"


@pytest.fixture(scope="module")
def browser():
    browser = chromium.Browser(chromium.find())
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of recordings of real runs, of a trace for each sort of verdict, of a run with a hostile name, of `check`."""
    folder = tmp_path_factory.mktemp("pages")
    pages = {}

    def page(name, *command):
        pages[name] = folder / f"{name}.html"
        done = subprocess.run([LOWTIDE, *command, "-o", str(pages[name])], cwd=folder, capture_output=True, text=True, check=False)
        assert pages[name].exists(), done.stderr

    for name in REAL:
        page(name, "report", str(RECORDINGS / f"{name}.lowtide"))
    page("leak", "report", str(TRACES / "10_val_lists.leak.csv"))
    page("level", "report", str(TRACES / "01_ds_to_device.fixed.csv"))
    lines = [
        f"2026-11-28 10:{i // 60:02d}:{i % 60:02d} INFO step {i} RAM: {12 + i * 0.01:.2f}GB gpu_util_mem: {40 + i % 7}%\n" for i in range(300)
    ]
    (folder / "train.log").write_text("".join(lines))
    page("log", "report", "train.log")
    (folder / "steps.log").write_text("".join(f"step {i} loss 0.5 RAM: {12 + i * 0.01:.2f}GB\n" for i in range(300)))
    page("steps", "report", "steps.log")
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


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_a_real_run_says_first_what_it_is_and_shows_its_curve(browser, pages, name, width, dark):
    opened(browser, pages[name], width=width, dark=dark)
    verdict, *more = REAL[name]
    assert browser.run("document.querySelector('.badge').innerText").split(maxsplit=1)[1] == verdict
    answer = browser.run("document.querySelector('.verdict').innerText")
    assert [text for text in more if text not in answer] == []
    assert browser.run(COLORS) > 4
    assert browser.run("document.documentElement.scrollWidth") <= width
    if width > 1000:
        # The answer never pushes the curve off the first screen.
        assert browser.run("document.getElementById('curve').getBoundingClientRect().top") < 700
    assert browser.complaints() == []


@pytest.mark.parametrize("name", REAL)
def test_a_real_run_can_be_zoomed_and_its_layers_left_out(browser, pages, name):
    opened(browser, pages[name])
    whole, drawn = browser.run(RANGE), browser.run(PIXELS)
    browser.run("document.getElementById('zoom-in').click()")
    zoomed = browser.run(RANGE)
    assert zoomed[1] - zoomed[0] == pytest.approx((whole[1] - whole[0]) / 2, rel=0.01)
    browser.run("document.getElementById('zoom-all').click()")
    assert (browser.run(RANGE), browser.run(PIXELS)) == (whole, drawn)
    for layer in browser.run("[...document.querySelectorAll('#toggles input:checked')].map((one) => one.dataset.layer)"):
        if layer in ("swap", "shmem", "stops", "trend"):
            continue  # Too little of it may lie in the picture.
        press = f"document.querySelector('#toggles input[data-layer={layer}]').click()"
        browser.run(press)
        assert browser.run(PIXELS) != drawn, layer
        browser.run(press)
        assert browser.run(PIXELS) == drawn, layer
    assert browser.complaints() == []


def test_a_leak_on_a_gpu_is_drawn_on_that_gpu(browser, pages):
    opened(browser, pages["gpu.leak"])
    view = browser.run("document.getElementById('view').selectedOptions[0].text")
    assert "gpu0" in view and "EMULATED" in view
    browser.run("document.getElementById('plot').focus()")
    browser.key("ArrowRight")
    read = browser.run("document.getElementById('readout').innerText")
    assert "live tensors" in read and "held by PyTorch" in read and "outside of PyTorch" in read
    # The forecast goes up to the card's size.
    press = "document.querySelector('#toggles input[data-layer=cone]').click()"
    whole = browser.run(RANGE)
    browser.run(press)
    assert browser.run(RANGE)[1] > 5 * whole[1]
    # Host memory is there, too, without the card's growth and limit.
    browser.run("(() => { const s = document.getElementById('view'); s.value = 'tree'; s.dispatchEvent(new Event('change')); })()")
    layers = browser.run("[...document.querySelectorAll('#toggles input')].map((one) => one.dataset.layer)")
    assert "anon" in layers and "trend" not in layers and "cone" not in layers
    assert browser.complaints() == []


def test_on_paper_everything_is_unfolded_and_light(browser, pages):
    opened(browser, pages["finetune.leak"], dark=True)
    closed = "document.querySelectorAll('details:not([open])').length"
    before, drawn = browser.run(closed), browser.run(PIXELS)
    assert before > 0
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.run(closed) == 0
    assert browser.run("document.documentElement.dataset.theme") == "light" and browser.run(PIXELS) != drawn
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    assert browser.run(closed) == before
    assert browser.run(PIXELS) == drawn
    assert len(browser.call("Page.printToPDF", printBackground=True)["data"]) > 30_000


# Of every text the ratio of luminance to what lies behind it (WCAG 2.1, 1.4.3); those that have too little.
CONTRAST = """(() => {
  const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const color = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (one) => { for (; one; one = one.parentElement) { const c = color(getComputedStyle(one).backgroundColor); if (c.length < 4 || c[3] === 1) return c; } return [255, 255, 255]; };
  const poor = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || one.closest('script, style, svg') || !one.getClientRects().length) continue;
    seen++;
    const [a, b] = [light(color(getComputedStyle(one).color)), light(behind(one))].sort((a, b) => b - a);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(walker.currentNode.textContent.trim().slice(0, 60));
  }
  return [seen, poor];
})()"""


@pytest.mark.parametrize("name", ["40.leak", "gpu.leak", "38.fixed"])
@pytest.mark.parametrize("dark", [False, True])
def test_every_text_can_be_read_on_what_lies_behind_it(browser, pages, name, dark):
    opened(browser, pages[name], dark=dark)
    browser.run("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    seen, poor = browser.run(CONTRAST)
    assert seen > 100
    assert poor == []


@pytest.mark.parametrize("name", ["40.leak", "gpu.leak"])
def test_parts_of_the_page_have_names_of_their_own(browser, pages, name):
    opened(browser, pages[name])
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    regions = [node["name"]["value"] for node in tree if not node.get("ignored") and node.get("role", {}).get("value") == "region"]
    assert len(regions) > 8
    assert sorted(set(regions)) == sorted(regions)
    assert browser.run("[...document.querySelectorAll('th')].filter((one) => !one.textContent.trim()).length") == 0
    levels = browser.run("[...document.querySelectorAll('h1, h2, h3')].map((one) => +one.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:]))


@pytest.mark.parametrize("name", ["log", "steps"])
@pytest.mark.parametrize("width", [1280, 390])
def test_numbers_of_a_log_are_drawn(browser, pages, name, width):
    opened(browser, pages[name], width=width)
    assert "LEAK" in browser.run("document.querySelector('.badge').innerText")
    assert browser.run("document.getElementById('curve-title').innerText") == "The file's numbers"
    assert browser.run("document.documentElement.scrollWidth") <= width
    view = "document.getElementById('view').selectedOptions[0].text"
    assert browser.run(view) == "RAM"
    before = browser.run(PIXELS)
    layers = browser.run("[...document.querySelectorAll('#toggles input')].map((one) => one.dataset.layer)")
    assert ("trend" in layers) == (name == "log")
    for layer in layers:
        press = f"document.querySelector('#toggles input[data-layer={layer}]').click()"
        browser.run(press)
        assert browser.run(PIXELS) != before, layer
        browser.run(press)
        assert browser.run(PIXELS) == before, layer
    browser.run("document.getElementById('plot').focus()")
    browser.key("ArrowRight")
    read = browser.run("document.getElementById('readout').innerText")
    assert "GiB" in read and read.startswith("after" if name == "log" else "step"), read
    for option in browser.run("[...document.getElementById('view').options].map((one) => one.value)"):
        browser.run(f"(() => {{ const s = document.getElementById('view'); s.value = '{option}'; s.dispatchEvent(new Event('change')); }})()")
        assert browser.run(COLORS) > 4, option
    # Nobody watched it, and nothing of the sort is claimed.
    assert browser.run("document.getElementById('cost')") is None
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
