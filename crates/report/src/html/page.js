// Draws the curve of the page with uPlot. The numbers come from the JSON block; nothing is fetched.
(function () {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;

  // ---- theme
  const themeButton = $("theme");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const redraws = [];
  function themed() {
    themeButton.textContent = isDark() ? "Light" : "Dark";
    redraws.forEach((redraw) => redraw());
  }
  themeButton.hidden = false;
  themeButton.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    themed();
  });
  prefersDark.addEventListener("change", themed);
  themeButton.textContent = isDark() ? "Light" : "Dark";
  // Paper is white, and nothing can be folded out on it.
  let before = null;
  window.addEventListener("beforeprint", () => {
    before = { theme: root.dataset.theme, closed: [...document.querySelectorAll("details:not([open])")] };
    root.dataset.theme = "light";
    before.closed.forEach((one) => (one.open = true));
    themed();
  });
  window.addEventListener("afterprint", () => {
    if (!before) return;
    if (before.theme) root.dataset.theme = before.theme; else delete root.dataset.theme;
    before.closed.forEach((one) => (one.open = false));
    before = null;
    themed();
  });

  const block = $("data");
  if (!block) return;
  const data = JSON.parse(block.textContent);
  if ((!data.t || data.t.length < 2) && !data.cards.length && !data.logged.length) return;

  // ---- words
  const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  function size(kib) {
    if (kib == null) return "–";
    let value = Math.abs(kib), unit = 0;
    while (value >= 999.5 && unit < UNITS.length - 1) { value /= 1024; unit++; }
    const digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return (kib < 0 ? "−" : "") + value.toFixed(digits).replace(/\.?0+$/, (zeros) => (digits ? "" : zeros)) + " " + UNITS[unit];
  }
  function time(s) {
    const sign = s < 0 ? "−" : "";
    s = Math.abs(s);
    if (s < 60) return sign + (s < 10 && s % 1 ? s.toFixed(1) : Math.round(s)) + " s";
    const [big, small, a, b] = s < 3600 ? [60, 1, "min", "s"] : s < 172800 ? [3600, 60, "h", "min"] : [86400, 3600, "d", "h"];
    let whole = Math.floor(s / big), rest = Math.round((s - whole * big) / small);
    if (rest * small >= big) { whole++; rest = 0; }
    return sign + whole + " " + a + (rest ? " " + rest + " " + b : "");
  }

  // ---- what can be shown
  const css = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const SORT_WORDS = { anon: data.words.anon, swap: "swapped out", shmem: "shared memory", file: "file pages" };
  const SORTS = ["anon", "swap", "shmem", "file"];
  const TIDE = { anon: true, swap: true, shmem: true };
  const zeros = (n) => new Array(n).fill(0);
  const add = (into, from) => { if (from) for (let i = 0; i < into.length; i++) into[i] += from[i]; return into; };
  const none = () => zeros(data.t.length);
  const tree = {};
  SORTS.forEach((sort) => {
    const having = data.roles.filter((role) => role[sort]);
    if (having.length) tree[sort] = having.reduce((sum, role) => add(sum, role[sort]), none());
  });
  const bySort = (from) => SORTS.filter((sort) => from[sort]).map((sort) => ({ id: sort, label: SORT_WORDS[sort], color: sort, values: from[sort], tide: !!TIDE[sort] }));
  const ram = (view) => Object.assign({ of: "ram", t: data.t, role: "" }, view);
  const views = [];
  if (data.t.length > 1) views.push(ram({ id: "tree", label: "whole tree, by sort of memory", layers: bySort(tree), floor: data.floor }));
  if (data.t.length > 1 && data.roles.length > 1) {
    views.push(ram({
      id: "roles", label: "whole tree, by role", floor: data.floor,
      layers: data.roles.map((role) => ({
        id: "role-" + role.color, label: role.label, color: "r" + role.color, tide: true,
        values: SORTS.reduce((sum, sort) => (TIDE[sort] ? add(sum, role[sort]) : sum), none()),
      })),
    }));
    data.roles.forEach((role) => views.push(ram({ id: "role-" + role.color, label: role.label + ", by sort of memory", layers: bySort(role), floor: role.floor, role: role.role, name: role.label })));
  }
  // What grows lies at the bottom, so that its low-water line lies on it.
  const PARTS = { tensors: ["live tensors", "anon"], cached: ["held by PyTorch beside them", "r5"], outside: ["outside of PyTorch", "r2"], others: ["others on the card", "file"] };
  data.cards.forEach((card) => {
    const grows = data.trend && data.trend.of === card.name && data.trend.layers.length ? data.trend.layers : ["tensors"];
    const order = [...grows, ...Object.keys(PARTS).filter((part) => !grows.includes(part))].filter((part) => card[part]);
    const layers = order.map((part) => ({ id: part, label: PARTS[part][0], color: PARTS[part][1], values: card[part], tide: grows.includes(part) }));
    views.push({ id: card.name, label: card.label, of: card.name, t: card.t, layers, floor: 0, role: "" });
  });
  // What a file says stands by itself: its numbers have times, steps or lines of their own.
  data.logged.forEach((one, at) => views.push({
    id: "logged-" + at, label: one.label, of: one.of, t: one.t, floor: 0, role: "", alone: true, axis: one.axis, percent: one.percent,
    layers: [{ id: "number", label: one.label, color: "anon", values: one.v, tide: true }],
  }));
  let view = views.find((one) => data.trend && one.of === data.trend.of) || views[0];
  let lastT, firstT;
  function frame() {
    const all = view.alone ? [view] : views.filter((one) => !one.alone);
    lastT = Math.max(...all.map((one) => one.t[one.t.length - 1]));
    firstT = Math.min(...all.map((one) => one.t[0]));
  }
  frame();
  const shown = (value) => (value != null && view.percent ? +value.toFixed(2) + " %" : size(value));
  const place = (t) => (view.axis ? view.axis + " " + +t.toFixed(1) : time(t));
  // A forecast far ahead would press the run itself into a corner.
  const soon = !!data.oom && data.oom.seconds[1] < 2 * (lastT - firstT);
  const overlays = [
    { id: "tide", label: "low-water line", color: "tide", key: "thin", on: true, there: true },
    { id: "trend", label: "growth with its 95 % interval", color: "limit", key: "dash", on: true, there: !!data.trend },
    { id: "cone", label: "forecast", color: "limit", key: "dash", on: soon, there: !!(data.oom && data.trend) },
    { id: "limits", label: "limits", color: "limit", key: "dash", on: false, there: data.limits.length > 0 },
    { id: "phases", label: "phases", color: "wash", key: "", on: true, there: data.phases.length > 0 },
    { id: "lives", label: "processes' births and deaths", color: "soft", key: "", on: data.lives.length > 1, there: data.lives.length > 0 },
    { id: "stops", label: "held up by lowtide", color: "swap", key: "dash", on: true, there: data.stops.length > 0 },
  ];
  const on = {};
  overlays.forEach((layer) => (on[layer.id] = layer.on && layer.there));
  const hiddenLayers = { file: true };
  // The one in which what the verdict is about can be seen.
  let plot = null;
  const here = (of) => of === view.of;
  // One far above the tightest never counts, and would press the curve down to the ground; the table of limits has it.
  const limitsHere = () => {
    const all = data.limits.filter((limit) => here(limit.of)), least = Math.min(...all.map((limit) => limit.kib));
    return all.filter((limit) => limit.kib <= 3 * least);
  };
  const coneHere = () => on.cone && data.oom && here(data.oom.of) && data.trend && here(data.trend.of);

  // ---- numbers of a view
  function stacked() {
    const shown = view.layers.filter((layer) => !hiddenLayers[layer.id]);
    let below = zeros(view.t.length);
    const sums = shown.map((layer) => (below = add(below.slice(), layer.values)));
    return { shown, sums, top: sums.length ? sums[sums.length - 1] : zeros(view.t.length) };
  }
  // The least that there is from a moment on. What falls at the end, when the run is torn down, is no low tide.
  function lowWater() {
    const sum = view.layers.filter((layer) => layer.tide && !hiddenLayers[layer.id]).reduce((sum, layer) => add(sum, layer.values), zeros(view.t.length));
    let end = view.t.length - 1;
    const whole = view.layers.every((layer) => !layer.tide || !hiddenLayers[layer.id]);
    if (whole && view.floor > 0) while (end > 0 && sum[end] < view.floor * 0.98) end--;
    const line = new Array(view.t.length).fill(null);
    let least = Infinity;
    for (let i = end; i >= 0; i--) line[i] = least = Math.min(least, sum[i]);
    return { line, end };
  }
  // The growth of the finding, as a line through the low-water line, and its interval.
  function trendOf(tide) {
    const about = data.trend && here(data.trend.of) && (!data.trend.role || !view.role || view.role === data.trend.role);
    if (!about || tide.line[tide.end] == null) return null;
    const t1 = view.t[tide.end], t0 = Math.max(firstT, t1 - (t1 - firstT) * 0.75);
    const rate = data.trend.rate, middle = (t0 + t1) / 2;
    let sum = 0, count = 0;
    for (let i = 0; i <= tide.end; i++) if (view.t[i] >= t0) { sum += tide.line[i] - rate * (view.t[i] - middle); count++; }
    const ym = sum / count;
    return { t0, t1, at: (t) => ym + rate * (t - middle), low: (t) => Math.min(ym + data.trend.low * (t - middle), ym + data.trend.high * (t - middle)), high: (t) => Math.max(ym + data.trend.low * (t - middle), ym + data.trend.high * (t - middle)) };
  }

  // ---- drawing on the canvas, under and over the lines
  const phaseColors = ["r5", "r6", "r2", "r1", "r4", "r3"];
  const phaseNames = [...new Set(data.phases.map((band) => band.n))];
  const phaseColor = (name) => css(phaseColors[phaseNames.indexOf(name) % phaseColors.length]);
  function under(u) {
    if (!on.phases) return;
    const { ctx, bbox } = u;
    ctx.save();
    ctx.textAlign = "left";
    data.phases.forEach((band) => {
      const a = Math.max(bbox.left, u.valToPos(band.a, "x", true)), b = Math.min(bbox.left + bbox.width, u.valToPos(band.b == null ? lastT : band.b, "x", true));
      if (b <= a) return;
      ctx.globalAlpha = 0.13;
      ctx.fillStyle = phaseColor(band.n);
      ctx.fillRect(a, bbox.top, b - a, bbox.height);
      ctx.globalAlpha = 0.9;
      ctx.fillRect(a, bbox.top, b - a, 3 * devicePixelRatio);
      const wide = ctx.measureText(band.n).width;
      if (b - a > wide + 8) {
        ctx.fillStyle = css("soft");
        ctx.font = 11 * devicePixelRatio + "px system-ui, sans-serif";
        ctx.textBaseline = "top";
        if (b - a > ctx.measureText(band.n).width + 8) ctx.fillText(band.n, a + 4, bbox.top + 5 * devicePixelRatio);
      }
    });
    ctx.restore();
  }
  function over(u) {
    const { ctx, bbox } = u, dpr = devicePixelRatio;
    const x = (t) => u.valToPos(t, "x", true), y = (v) => u.valToPos(v, "y", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.font = 11 * dpr + "px system-ui, sans-serif";
    const line = (points, dash) => {
      ctx.setLineDash(dash || []);
      ctx.beginPath();
      points.forEach(([t, v], i) => (i ? ctx.lineTo(x(t), y(v)) : ctx.moveTo(x(t), y(v))));
      ctx.stroke();
    };
    const area = (points) => {
      ctx.beginPath();
      points.forEach(([t, v], i) => (i ? ctx.lineTo(x(t), y(v)) : ctx.moveTo(x(t), y(v))));
      ctx.closePath();
      ctx.fill();
    };
    const tide = lowWater(), trend = trendOf(tide);
    if (trend && on.trend) {
      const m = (trend.t0 + trend.t1) / 2;
      ctx.fillStyle = css("limit");
      ctx.globalAlpha = 0.22;
      area([[trend.t0, trend.low(trend.t0)], [m, trend.low(m)], [trend.t1, trend.low(trend.t1)], [trend.t1, trend.high(trend.t1)], [m, trend.high(m)], [trend.t0, trend.high(trend.t0)]]);
      ctx.globalAlpha = 1;
      ctx.strokeStyle = css("limit");
      ctx.lineWidth = 1.5 * dpr;
      line([[trend.t0, trend.at(trend.t0)], [trend.t1, trend.at(trend.t1)]], [6 * dpr, 4 * dpr]);
    }
    if (trend && coneHere()) {
      const [soon, middle, late] = data.oom.seconds, top = data.oom.top;
      const end = view.t[view.t.length - 1];
      // A card is full by all that lies on it.
      const from = data.oom.of === "ram" ? trend.at(end) : stacked().top[tide.end];
      ctx.fillStyle = ctx.strokeStyle = css("limit");
      ctx.globalAlpha = 0.18;
      area([[end, from], [end + soon, top], [end + late, top]]);
      ctx.globalAlpha = 1;
      ctx.lineWidth = 1.5 * dpr;
      line([[end, from], [end + middle, top]], [3 * dpr, 4 * dpr]);
      ctx.textAlign = "right";
      ctx.fillText(data.oom.words, Math.min(x(end + middle), bbox.left + bbox.width - 6 * dpr), y(data.oom.kib) - 6 * dpr);
      ctx.textAlign = "left";
    }
    if (on.limits || coneHere()) {
      ctx.strokeStyle = ctx.fillStyle = css("limit");
      ctx.lineWidth = 2 * dpr;
      limitsHere().forEach((limit) => {
        if (!shownLimit(limit)) return;
        line([[u.scales.x.min, limit.kib], [u.scales.x.max, limit.kib]], [10 * dpr, 5 * dpr]);
        ctx.fillText(limit.name + " limit " + size(limit.kib), bbox.left + 6 * dpr, y(limit.kib) + 13 * dpr);
      });
    }
    if (on.stops) {
      ctx.strokeStyle = css("swap");
      ctx.lineWidth = 1.5 * dpr;
      data.stops.forEach((stop) => {
        ctx.setLineDash([2 * dpr, 3 * dpr]);
        ctx.beginPath();
        ctx.moveTo(x(stop.t), bbox.top);
        ctx.lineTo(x(stop.t), bbox.top + bbox.height);
        ctx.stroke();
      });
    }
    if (on.lives) {
      const bottom = bbox.top + bbox.height - 2 * dpr, w = 4 * dpr, last = {};
      const mark = (t, up) => {
        const at = x(t);
        if (Math.abs(at - last[up]) < 2 * w) return; // Many at one place are one mark.
        last[up] = at;
        ctx.beginPath();
        if (up) { ctx.moveTo(at - w, bottom); ctx.lineTo(at + w, bottom); ctx.lineTo(at, bottom - 1.7 * w); }
        else { ctx.moveTo(at - w, bottom - 1.7 * w); ctx.lineTo(at + w, bottom - 1.7 * w); ctx.lineTo(at, bottom); }
        ctx.closePath();
        up ? ctx.fill() : ctx.stroke();
      };
      ctx.setLineDash([]);
      ctx.lineWidth = 1.2 * dpr;
      ctx.fillStyle = ctx.strokeStyle = css("ink");
      data.lives.forEach((life) => {
        if (life.a >= u.scales.x.min) mark(life.a, true);
        if (life.b != null) mark(life.b, false);
      });
    }
    ctx.restore();
  }
  const shownLimit = (limit) => on.limits || (coneHere() && limit.kib === data.oom.kib);

  // ---- the plot
  const box = $("plot"), readout = $("readout");
  function fullRange() {
    let end = lastT;
    if (coneHere()) end = lastT + Math.min(data.oom.seconds[2], data.oom.seconds[1] * 1.3) * 1.05;
    return [firstT, end];
  }
  function topOf(stack, min, max) {
    let top = 0;
    for (let i = 0; i < view.t.length; i++) if (view.t[i] >= min && view.t[i] <= max) top = Math.max(top, stack.top[i]);
    if (on.limits) limitsHere().forEach((limit) => (top = Math.max(top, limit.kib)));
    if (coneHere()) top = Math.max(top, data.oom.kib);
    return top > 0 ? top * 1.08 : 1;
  }
  function draw(range) {
    range = range || fullRange();
    if (plot) plot.destroy();
    const stack = stacked(), tide = lowWater();
    const axis = { stroke: css("soft"), font: "12px system-ui, sans-serif", grid: { stroke: css("line"), width: 1 }, ticks: { stroke: css("line"), width: 1 } };
    const series = [{}], values = [view.t], bands = [];
    for (let k = stack.sums.length - 1; k >= 0; k--) {
      const color = css(stack.shown[k].color);
      series.push({ label: stack.shown[k].label, stroke: color, width: 1, fill: k === 0 ? color + "b0" : undefined, points: { show: false } });
      if (k > 0) bands.push({ series: [series.length - 1, series.length], fill: color + "b0" });
      values.push(stack.sums[k]);
    }
    if (on.tide) {
      series.push({ label: "low-water line", stroke: css("tide"), width: 2.5, points: { show: false } });
      values.push(tide.line);
    }
    const height = Math.max(260, Math.min(440, Math.round(window.innerHeight * 0.5)));
    plot = new uPlot({
      width: Math.max(200, box.clientWidth), height, series, bands,
      legend: { show: false },
      padding: [null, 38, null, null],
      cursor: { y: false, drag: { x: true, y: false }, points: { show: false } },
      scales: { x: { time: false, min: range[0], max: range[1] }, y: { range: (u) => [0, u.scales.x.min == null ? topOf(stack, range[0], range[1]) : topOf(stack, u.scales.x.min, u.scales.x.max)] } },
      axes: [
        Object.assign({ values: (u, at) => at.map(place), space: 80, incrs: [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000] }, axis),
        Object.assign({ values: (u, at, axis, space, step) => at.map((kib) => (view.percent ? +kib.toFixed(2) + " %" : tick(kib, step))), size: 76, incrs: view.percent ? [0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100] : increments() }, axis),
      ],
      hooks: { drawAxes: [under], draw: [over], setCursor: [(u) => tell(u.cursor.idx)], setScale: [(u, key) => key === "x" && zoomed(u)] },
    }, values, box);
  }
  // All in the unit that suits the step between them: 0.5 GiB, 1 GiB, 1.5 GiB, but 800 MiB, 1000 MiB, 1200 MiB.
  function tick(kib, step) {
    let unit = 0;
    while (unit < UNITS.length - 1 && (4 * step) % 1024 ** (unit + 1) === 0) unit++;
    return kib === 0 ? "0" : +(kib / 1024 ** unit).toFixed(2) + " " + UNITS[unit];
  }
  function increments() {
    const list = [];
    for (let unit = 1; unit < 1e13; unit *= 1024) [1, 2, 5, 10, 20, 50, 100, 200, 256, 512].forEach((step) => list.push(step * unit));
    return list;
  }
  function zoomed(u) {
    box.dataset.from = u.scales.x.min.toFixed(3);
    box.dataset.to = u.scales.x.max.toFixed(3);
  }

  // ---- values under the cursor
  function tell(idx) {
    readout.textContent = "";
    const say = (label, value, color) => {
      const span = document.createElement("span");
      if (color) {
        const key = document.createElement("i");
        key.className = "key";
        key.style.setProperty("--c", "var(--" + color + ")");
        span.append(key, " ");
      }
      const strong = document.createElement("b");
      strong.textContent = value;
      span.append(label ? label + " " : "", strong);
      readout.append(span);
    };
    if (idx == null) {
      readout.textContent = "Move over the curve to read its values.";
      return;
    }
    const stack = stacked();
    say(view.axis ? "" : "after", view.axis ? place(view.t[idx]) : time(view.t[idx] - firstT + Math.max(0, firstT)));
    stack.shown.forEach((layer) => say(layer.label, shown(layer.values[idx]), layer.color));
    if (stack.shown.length > 1) say("together", shown(stack.top[idx]));
    if (on.tide) say("low-water line", shown(lowWater().line[idx]), "tide");
    const t = view.t[idx], phase = data.phases.find((band) => band.a <= t && (band.b == null || band.b > t));
    if (phase && on.phases) say("phase", phase.n);
    if (on.lives) say("processes", String(data.lives.filter((life) => life.a <= t && (life.b == null || life.b > t)).length));
    const near = (lastT - firstT) / 150, stop = on.stops && data.stops.find((stop) => Math.abs(stop.t - t) <= near);
    if (stop) say("lowtide:", "pid " + stop.pid + " " + stop.w + ", " + (stop.ms >= 10 ? stop.ms.toFixed(0) : stop.ms.toFixed(1)) + " ms");
  }

  // ---- controls
  const select = $("view");
  views.forEach((one) => select.append(new Option(one.label, one.id)));
  select.addEventListener("change", () => {
    const apart = view.alone;
    view = views.find((one) => one.id === select.value) || views[0];
    frame();
    toggles();
    // Numbers of a file have times of their own each.
    if (apart || view.alone) { draw(null); tell(null); } else redraw();
  });
  select.value = view.id;
  const redraw = () => { draw(plot ? [plot.scales.x.min, plot.scales.x.max] : null); tell(null); };
  redraws.push(() => plot && redraw());
  function toggles() {
    const set = $("toggles");
    [...set.querySelectorAll("label")].forEach((label) => label.remove());
    const put = (id, text, color, key, checked, change) => {
      const label = document.createElement("label"), input = document.createElement("input"), swatch = document.createElement("i");
      input.type = "checkbox";
      input.checked = checked;
      input.dataset.layer = id;
      input.addEventListener("change", () => change(input.checked));
      swatch.className = "key " + key;
      swatch.style.setProperty("--c", "var(--" + color + ")");
      label.append(input, swatch, text);
      if (id === "phases") {
        swatch.remove();
        phaseNames.slice(0, 6).forEach((name) => {
          const one = document.createElement("i");
          one.className = "key";
          one.style.setProperty("--c", "var(--" + phaseColors[phaseNames.indexOf(name) % phaseColors.length] + ")");
          label.append(one, name);
        });
      }
      set.append(label);
    };
    view.layers.forEach((layer) => put(layer.id, layer.label, layer.color, "", !hiddenLayers[layer.id], (checked) => { hiddenLayers[layer.id] = !checked; redraw(); }));
    const absent = { trend: !data.trend || !here(data.trend.of), cone: !data.oom || !data.trend || !here(data.oom.of) || !here(data.trend.of), limits: limitsHere().length === 0 };
    overlays.filter((layer) => layer.there && !absent[layer.id]).forEach((layer) => put(layer.id, layer.label, layer.color, layer.key, on[layer.id], (checked) => {
      on[layer.id] = checked;
      if (layer.id === "cone") draw(null); else redraw();
    }));
  }
  function scale(factor, by) {
    const [a, b] = fullRange(), { min, max } = plot.scales.x, span = Math.min(b - a, Math.max((max - min) * factor, (b - a) / 5000));
    const at = plot.cursor.idx != null ? view.t[plot.cursor.idx] : (min + max) / 2, part = Math.min(1, Math.max(0, (at - min) / (max - min)));
    let from = (factor === 1 ? min : at - span * part) + (by || 0) * (max - min);
    from = Math.max(a, Math.min(b - span, from));
    plot.setScale("x", { min: from, max: from + span });
  }
  $("zoom-in").addEventListener("click", () => scale(0.5));
  $("zoom-out").addEventListener("click", () => scale(2));
  $("zoom-all").addEventListener("click", () => draw(null));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && event.shiftKey) scale(1, 0.2 * step);
    else if (step) {
      const { min, max } = plot.scales.x;
      let idx = plot.cursor.idx == null ? Math.max(0, view.t.findIndex((t) => t >= (min + max) / 2)) : plot.cursor.idx;
      const px = (i) => plot.valToPos(view.t[i], "x");
      const from = px(idx);
      do idx += step; while (idx > 0 && idx < view.t.length - 1 && Math.abs(px(idx) - from) < 4);
      idx = Math.max(0, Math.min(view.t.length - 1, idx));
      plot.setCursor({ left: px(idx), top: 10 });
    } else if (event.key === "+" || event.key === "=") scale(0.5);
    else if (event.key === "-") scale(2);
    else if (event.key === "0" || event.key === "Escape") draw(null);
    else return;
    event.preventDefault();
  });
  box.addEventListener("dblclick", () => draw(null));
  let resizing = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(() => plot && plot.setSize({ width: Math.max(200, box.clientWidth), height: plot.height }));
  });

  if (limitsHere().some((limit) => limit.kib < 3 * Math.max(...stacked().top))) on.limits = true;
  toggles();
  draw(null);
  tell(null);
  box.dataset.ready = "1";
})();
