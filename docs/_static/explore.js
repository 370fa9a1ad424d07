// The page explore.md: both Kalman filters of KFHE, computed here from the votes of trees that were trained ahead of time.
(function () {
  "use strict";
  const data = window.exploreData;
  const n = data.X.length;
  const element = (name) => document.getElementById("explore-" + name);

  function unpack(hex, length) {
    const bits = new Uint8Array(length);
    for (let i = 0; i < length; i++) bits[i] = (parseInt(hex[i >> 2], 16) >> (3 - (i & 3))) & 1;
    return bits;
  }

  // One step of both filters. y[i] is the score of class 1; equal scores mean class 0.
  function advance(state, votes, labels, reset) {
    const weights = reset ? new Array(n).fill(1 / n) : state.weights;
    const weightVariance = reset ? 1 : state.weightVariance;
    const z = state.y.map((y, i) => (y + votes[i]) / 2);
    const wrong = z.map((score, i) => ((score > 0.5 ? 1 : 0) === labels[i] ? 0 : 1));
    const error = wrong.reduce((sum, loss) => sum + loss, 0) / n;
    const gainOf = (variance) => (variance + error > 0 ? variance / (variance + error) : 0);
    const gain = gainOf(state.variance);
    const weightGain = gainOf(weightVariance);
    const pulled = weights.map((w, i) => w + weightGain * (w * Math.exp(wrong[i] + 1 / n) - w));
    const total = pulled.reduce((sum, w) => sum + w, 0);
    return {
      y: state.y.map((y, i) => y + gain * (z[i] - y)),
      variance: (1 - gain) * state.variance,
      weights: pulled.map((w) => w / total),
      weightVariance: (1 - weightGain) * weightVariance,
      gain, error, votes, wrong, reset,
    };
  }

  function replay(fit) {
    const states = [{
      y: fit.start, variance: 1, weights: new Array(n).fill(1 / n), weightVariance: 1,
      votes: fit.start.map((score) => (score > 0.5 ? 1 : 0)), reset: false,
    }];
    fit.votes.forEach((hex, t) => {
      states.push(advance(states[t], unpack(hex, n), fit.labels, fit.resets.includes(t + 1)));
    });
    const size = data.columns * data.rows;
    const grids = [Float32Array.from(fit.startGrid, (level) => level / 255)];
    fit.voteGrids.forEach((hex, t) => {
      const votes = unpack(hex, size);
      const gain = states[t + 1].gain;
      grids.push(grids[t].map((y, i) => (1 - gain / 2) * y + (gain / 2) * votes[i]));
    });
    const trueErrors = states.map((state) => state.y.filter((y, i) => (y > 0.5 ? 1 : 0) !== data.true[i]).length / n);
    return { states, grids, trueErrors };
  }

  const runs = data.fits.map(replay);
  window.exploreRuns = runs; // for the tests of this page

  const svgNode = (name, attributes, parent) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    parent.appendChild(node);
    return node;
  };

  function drawMap(fit, state, grid) {
    const canvas = element("canvas");
    canvas.width = data.columns;
    canvas.height = data.rows;
    const context = canvas.getContext("2d");
    const picture = context.createImageData(data.columns, data.rows);
    for (let row = 0; row < data.rows; row++) {
      for (let column = 0; column < data.columns; column++) {
        const score = grid[(data.rows - 1 - row) * data.columns + column];
        const color = score > 0.5 ? [230, 120, 0] : [0, 114, 178];
        picture.data.set([...color, 30 + 260 * Math.abs(score - 0.5)], 4 * (row * data.columns + column));
      }
    }
    context.putImageData(picture, 0, 0);

    const svg = element("points");
    const [width, height] = [300, 200];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    data.X.forEach(([x, y], i) => {
      const place = {
        cx: (width * (x - data.low[0])) / (data.high[0] - data.low[0]),
        cy: height - (height * (y - data.low[1])) / (data.high[1] - data.low[1]),
      };
      const radius = Math.min(16, Math.max(1.5, 4 * Math.sqrt(n * state.weights[i])));
      svgNode("circle", { ...place, r: radius, class: "class-" + fit.labels[i] }, svg);
      if (fit.labels[i] !== data.true[i]) svgNode("circle", { ...place, r: radius + 2.5, class: "ring" }, svg);
    });
  }

  function drawChart(run, step) {
    const svg = element("chart");
    const [width, height, left, bottom] = [300, 200, 26, 18];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    const last = run.states.length - 1;
    const x = (t) => left + ((width - left - 6) * t) / last;
    const y = (value) => height - bottom - (height - bottom - 8) * value;
    [0, 0.5, 1].forEach((value) => {
      svgNode("line", { x1: left, x2: width - 6, y1: y(value), y2: y(value), class: "grid" }, svg);
      svgNode("text", { x: left - 4, y: y(value) + 3, "text-anchor": "end" }, svg).textContent = value;
    });
    [0, 10, 20, 30].filter((t) => t <= last).forEach((t) => {
      svgNode("text", { x: x(t), y: height - 5, "text-anchor": "middle" }, svg).textContent = t;
    });
    svgNode("line", { x1: x(step), x2: x(step), y1: y(0), y2: y(1), class: "cursor" }, svg);
    const series = {
      variance: run.states.map((state) => state.variance),
      error: run.states.map((state) => state.error),
      gain: run.states.map((state) => state.gain),
      truth: run.trueErrors,
    };
    for (const [name, values] of Object.entries(series)) {
      const points = values.map((value, t) => [t, value]).filter(([t, value]) => t <= step && value !== undefined);
      svgNode("polyline", { points: points.map(([t, value]) => `${x(t)},${y(value)}`).join(" "), class: name }, svg);
      const end = points.at(-1);
      if (end) svgNode("circle", { cx: x(end[0]), cy: y(end[1]), r: 2.5, class: name }, svg);
    }
  }

  const show = (number) => number.toFixed(3);

  function tell(fit, run, step) {
    const state = run.states[step];
    const wrongNow = `${Math.round(run.trueErrors[step] * n)} of ${n} samples against the correct labels`;
    if (step === 0) {
      return `Start: one tree, trained on all samples, is the first estimate, with the variance P = 1. It is wrong on ${wrongNow}.`;
    }
    const before = run.states[step - 1];
    const missed = Math.round(state.error * n);
    const start = state.reset ? "A tree no better than guessing was thrown away, and the weights were reset. " : "";
    return `${start}Member ${step}: moved half-way to the new tree, the estimate contradicts ${missed} of ${n} given labels, ` +
      `so R = ${show(state.error)}. Gain K = P / (P + R) = ${show(before.variance)} / ${show(before.variance + state.error)} = ${show(state.gain)}; ` +
      `the variance falls to P = ${show(state.variance)}. Now the ensemble is wrong on ${wrongNow}.`;
  }

  function fillTable(fit, state) {
    const largest = Math.max(...state.weights);
    const bar = (share, name) => `<span class="explore-bar ${name}" style="width:${(100 * share).toFixed(1)}%"></span>`;
    element("rows").innerHTML = data.X.map((_, i) => {
      const mistake = fit.labels[i] !== data.true[i];
      const given = (state.y[i] > 0.5 ? 1 : 0) === fit.labels[i] ? "" : ' class="contradicted"';
      return `<tr${given}><td>${i}${mistake ? " (wrong label)" : ""}</td><td>${fit.labels[i]}</td><td>${state.votes[i]}</td>` +
        `<td>${show(state.y[i])}</td><td class="bar">${bar(state.y[i], "estimate")}</td>` +
        `<td>${show(state.weights[i])}</td><td class="bar">${bar(state.weights[i] / largest, "weight")}</td></tr>`;
    }).join("");
  }

  function update() {
    const choice = Number(element("noise").value);
    const fit = data.fits[choice];
    const run = runs[choice];
    element("step").max = run.states.length - 1;
    const step = Number(element("step").value);
    element("noise-value").textContent = `${Math.round(100 * fit.noise)} %`;
    element("step-value").textContent = step;
    element("back").disabled = step === 0;
    element("next").disabled = step === run.states.length - 1;
    drawMap(fit, run.states[step], run.grids[step]);
    drawChart(run, step);
    element("story").textContent = tell(fit, run, step);
    fillTable(fit, run.states[step]);
  }

  let timer = null;
  function stop() {
    clearInterval(timer);
    timer = null;
    element("play").textContent = "Play";
  }
  function move(by) {
    element("step").value = Number(element("step").value) + by;
    update();
    if (element("next").disabled) stop();
  }
  element("noise").addEventListener("input", update);
  element("step").addEventListener("input", () => { stop(); update(); });
  element("back").addEventListener("click", () => { stop(); move(-1); });
  element("next").addEventListener("click", () => { stop(); move(1); });
  element("play").addEventListener("click", () => {
    if (timer) { stop(); return; }
    if (element("next").disabled) element("step").value = 0;
    element("play").textContent = "Pause";
    timer = setInterval(() => move(1), 700);
  });
  update();
})();
