// Draws the live charts of a report from the data in the page. Foreign text only ever becomes a text node or a label
// drawn by the chart library, never markup.
(function () {
  "use strict";
  var root = document.documentElement;
  var data = JSON.parse(document.getElementById("data").textContent);
  var labels = data.labels;
  var charts = {};
  if (!window.echarts) return; // the still charts remain
  root.classList.add("js");

  function byId(id) { return document.getElementById(id); }
  function css(name) { return getComputedStyle(root).getPropertyValue(name).trim(); }
  function isDark() { return getComputedStyle(root).colorScheme === "dark"; }
  function colour(platform) {
    var set = isDark() ? data.colours.dark : data.colours.light;
    return set[platform % set.length];
  }
  // Platforms differ by mark as well as by colour.
  var SYMBOLS = ["circle", "rect", "triangle", "diamond"];
  function symbol(platform) { return SYMBOLS[platform % SYMBOLS.length]; }
  var DASHES = { p50: "solid", p95: "dashed", p99: "dotted" };

  function digits(v) {
    if (v === null || v === undefined || !isFinite(v)) return "–";
    var a = Math.abs(v);
    var text = a >= 99.95 ? v.toFixed(0) : a >= 9.995 ? v.toFixed(1) : a >= 0.9995 ? v.toFixed(2) : a === 0 ? "0" : v.toPrecision(3);
    var parts = text.split(".");
    parts[0] = parts[0].replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    return parts.join(".");
  }
  function tick(v) {
    return String(+v.toPrecision(6)).replace(/^(-?\d+)/, function (whole) { return whole.replace(/\B(?=(\d{3})+(?!\d))/g, ","); });
  }

  // A tooltip as nodes: a title and lines.
  function tip(title, lines) {
    var box = document.createElement("div");
    box.className = "tip";
    var head = document.createElement("b");
    head.textContent = title;
    box.appendChild(head);
    lines.forEach(function (line) {
      var row = document.createElement("div");
      row.textContent = line;
      box.appendChild(row);
    });
    return box;
  }

  function chart(id) {
    if (!charts[id]) charts[id] = echarts.init(byId(id), null, { renderer: "svg" });
    return charts[id];
  }
  function axis(extra) {
    var line = css("--line"), soft = css("--soft");
    var base = {
      nameTextStyle: { color: soft, fontSize: 12 }, axisLabel: { color: soft, hideOverlap: true, formatter: tick },
      axisLine: { show: true, lineStyle: { color: soft } }, axisTick: { lineStyle: { color: soft } },
      splitLine: { lineStyle: { color: line } }, minorSplitLine: { show: false }
    };
    return Object.assign(base, extra);
  }
  function base() {
    return {
      animation: false, textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: css("--ink") },
      grid: { left: 12, right: 22, top: 40, bottom: 30, containLabel: true }
    };
  }
  function tooltip(extra) {
    return Object.assign({ confine: true, backgroundColor: css("--card"), borderColor: css("--line"), textStyle: { color: css("--ink") } }, extra);
  }
  function xName(text) { return { name: text, nameLocation: "middle", nameGap: 30 }; }
  function yName(text) { return { name: text, nameLocation: "end", nameGap: 14, nameTextStyle: { align: "left", color: css("--soft"), fontSize: 12, padding: [0, 0, 0, -40] } }; }
  // Log axes start at the decade below the smallest value that is drawn, halved where a decade is too much.
  function logRange(values) {
    var min = Infinity, max = 0;
    values.forEach(function (v) { if (v > 0) { if (v < min) min = v; if (v > max) max = v; } });
    if (max === 0) return {};
    function step(v, up) {
      var power = Math.pow(10, Math.floor(Math.log10(v)));
      var stops = [1, 2, 5, 10];
      for (var i = 0; i < stops.length; i++) {
        if (up ? stops[i] * power >= v : stops[i] * power > v) return up ? stops[i] * power : stops[Math.max(0, i - 1)] * power;
      }
      return v;
    }
    var range = { min: step(min * 0.95, false), max: step(max * 1.05, true) };
    var steps = range.max / range.min > 2000 ? [1] : [1, 2, 5], at = [];
    for (var power = Math.pow(10, Math.floor(Math.log10(range.min))); power <= range.max; power *= 10) {
      steps.forEach(function (s) { var v = +(s * power).toPrecision(3); if (v >= range.min && v <= range.max) at.push(v); });
    }
    range.axisLabel = { color: css("--soft"), hideOverlap: true, formatter: tick, customValues: at };
    range.axisTick = { lineStyle: { color: css("--soft") }, customValues: at };
    return range;
  }

  function checked(selector) {
    return Array.prototype.filter.call(document.querySelectorAll(selector), function (box) { return box.checked; })
      .map(function (box) { return box.value; });
  }

  function drawCurve() {
    var group = +byId("curve-group").value || 0;
    var y = byId("curve-y").value, x = byId("curve-x").value;
    var log = byId("curve-log").checked, intervals = byId("curve-ci").checked;
    var percentiles = checked(".curve-p");
    var platforms = checked(".curve-platform").map(Number);
    var series = [], values = [], inGroup = {};
    data.curves.forEach(function (curve) { if (curve.group === group) inGroup[curve.platform] = true; });
    document.querySelectorAll(".curve-platform").forEach(function (box) {
      box.parentNode.style.display = inGroup[box.value] ? "" : "none";
    });
    data.curves.forEach(function (curve) {
      if (curve.group !== group || platforms.indexOf(curve.platform) < 0) return;
      percentiles.forEach(function (p) {
        var points = [], bars = [];
        curve.points.forEach(function (index) {
          var point = data.points[index], triple = point[y][p];
          if (!triple || point[x] === null) { points.push({ value: [point[x], null] }); return; }
          values.push(triple[0]);
          points.push({
            value: [point[x], triple[0]], point: index, p: p,
            itemStyle: { color: point.valid ? colour(curve.platform) : css("--card"), borderColor: colour(curve.platform), borderWidth: 2 }
          });
          if (intervals && triple[1] !== null && triple[2] !== null) {
            values.push(triple[1], triple[2]);
            bars.push([point[x], triple[1]], [point[x], triple[2]], [point[x], null]);
          }
        });
        series.push({
          name: data.platforms[curve.platform] + " " + p, type: "line", data: points, symbol: symbol(curve.platform),
          symbolSize: 9, showSymbol: true, connectNulls: false, lineStyle: { color: colour(curve.platform), width: 2, type: DASHES[p] },
          itemStyle: { color: colour(curve.platform) }, emphasis: { scale: 1.5, lineStyle: { width: 3 } }, z: 3
        });
        // Where the sweep bends, on the first percentile shown.
        if (p === percentiles[0]) {
          var rings = curve.knees.filter(function (knee) {
            var point = data.points[knee.point];
            return point[y][p] && point[x] !== null;
          });
          series[series.length - 1].markPoint = {
            silent: true, animation: false, symbol: "circle", symbolSize: 20,
            itemStyle: { color: "transparent", borderColor: colour(curve.platform), borderWidth: 2 },
            label: { show: true, position: "bottom", distance: 4, color: colour(curve.platform), fontWeight: 600, textBorderColor: css("--card"), textBorderWidth: 3, formatter: function (m) { return m.name; } },
            data: rings.map(function (knee) { var point = data.points[knee.point]; return { name: knee.label, coord: [point[x], point[y][p][0]] }; })
          };
        }
        if (bars.length) {
          series.push({
            type: "line", data: bars, symbol: "none", silent: true, connectNulls: false, z: 2, tooltip: { show: false },
            lineStyle: { color: colour(curve.platform), width: 5, opacity: 0.3 }
          });
        }
      });
    });
    if (byId("curve-slo").checked && series.length) {
      var lines = data.slos.filter(function (slo) { return slo.group === group && slo[y] !== null; });
      lines.forEach(function (slo) { values.push(slo[y]); });
      series[0].markLine = {
        silent: true, symbol: "none", animation: false,
        lineStyle: { color: css("--bad"), type: "dashed", width: 1.5 },
        label: { color: css("--bad"), position: "insideStartTop", backgroundColor: css("--card"), padding: [1, 3], formatter: function (m) { return m.name; } },
        data: lines.map(function (slo) { return { name: slo.name + " ≤ " + digits(slo[y]) + " ms", yAxis: slo[y] }; })
      };
    }
    var range = log ? logRange(values) : { min: 0, max: niceMax(values) };
    var option = base();
    option.xAxis = axis(Object.assign({ type: "value", min: 0 }, xName(labels[x])));
    option.yAxis = axis(Object.assign({ type: log ? "log" : "value" }, yName(labels[y] + labels.comma + "ms"), range));
    option.series = series;
    option.tooltip = tooltip({ trigger: "item", formatter: function (hit) {
      if (hit.data.point === undefined) return "";
      var point = data.points[hit.data.point], triple = point[y][hit.data.p];
      var lines = [labels[y] + " " + hit.data.p + ": " + digits(triple[0]) + " ms"];
      if (triple[1] !== null) lines.push(labels.interval + ": " + (triple[2] === null ? "≥ " + digits(triple[1]) : digits(triple[1]) + "–" + digits(triple[2])) + " ms");
      lines.push(labels.n + " = " + digits(point[y].n));
      lines.push(labels.req_s + ": " + digits(point.req_s));
      lines.push(labels.tok_s + ": " + digits(point.tok_s));
      point[y].missing.forEach(function (text) { lines.push(text); });
      if (!point.valid) lines.push("⚠ " + labels.invalid);
      return tip(data.platforms[point.platform] + " · " + point.load, lines);
    } });
    chart("curve-chart").setOption(option, true);
  }
  function niceMax(values) {
    var max = Math.max.apply(null, values.concat([0]));
    if (max <= 0) return 1;
    var power = Math.pow(10, Math.floor(Math.log10(max)));
    var steps = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
    for (var i = 0; i < steps.length; i++) if (steps[i] * power >= max * 1.02) return steps[i] * power;
    return max * 1.2;
  }

  function fillLevels() {
    var group = data.groups[+byId("dist-group").value || 0];
    var select = byId("dist-level");
    select.textContent = "";
    if (!group) return;
    var best = 0, most = -1;
    group.levels.forEach(function (level, i) {
      add(select, String(i), level.label);
      var valid = level.points.filter(function (p) { return data.points[p].valid; }).length;
      if (valid >= most) { most = valid; best = i; }
    });
    select.value = String(best);
  }
  function drawDistribution() {
    var group = data.groups[+byId("dist-group").value || 0];
    var level = group && group.levels[+byId("dist-level").value || 0];
    var metric = byId("dist-metric").value, log = byId("dist-log").checked;
    var values = [];
    var series = (level ? level.points : []).map(function (index) {
      var point = data.points[index], curve = point.ecdf[metric], last = Math.max(1, curve.length - 1);
      curve.forEach(function (v) { values.push(v); });
      return {
        name: data.platforms[point.platform] + (point.valid ? "" : " (" + labels.invalid + ")"), type: "line", symbol: "none",
        data: curve.map(function (v, i) { return [v, i / last * 100]; }).filter(function (d) { return !log || d[0] > 0; }),
        lineStyle: { color: colour(point.platform), width: 2, type: point.valid ? "solid" : "dotted" },
        itemStyle: { color: colour(point.platform) }
      };
    });
    var option = base();
    option.legend = { top: 0, left: 0, type: "scroll", textStyle: { color: css("--ink") }, itemWidth: 22, pageIconColor: css("--accent"), pageTextStyle: { color: css("--soft") } };
    option.grid.top = 66;
    option.xAxis = axis(Object.assign({ type: log ? "log" : "value" }, xName(labels[metric] + labels.comma + "ms"), log ? logRange(values) : { min: 0 }));
    option.yAxis = axis(Object.assign({ type: "value", min: 0, max: 100 }, yName(labels.cumulative)));
    option.series = series;
    option.tooltip = tooltip({ trigger: "axis", axisPointer: { type: "line", axis: "y" }, formatter: function (hits) {
      if (!hits.length) return "";
      var share = hits[0].value[1];
      return tip(digits(share) + "%", hits.map(function (hit) { return hit.seriesName + ": " + digits(hit.value[0]) + " ms"; }));
    } });
    chart("dist-chart").setOption(option, true);
  }

  // Stretches outside the measured window, as [from, to].
  function outside(series) {
    var areas = [], from = null;
    var width = series.t.length > 1 ? series.t[1] - series.t[0] : 1;
    series.t.forEach(function (t, i) {
      if (!series.measured[i] && from === null) from = t;
      if (series.measured[i] && from !== null) { areas.push([from, t]); from = null; }
    });
    if (from !== null) areas.push([from, series.t[series.t.length - 1] + width]);
    return areas;
  }
  function panel(id, title, series, lines) {
    var areas = outside(series), option = base();
    var lastT = series.t.length ? series.t[series.t.length - 1] : 1;
    option.title = { text: title, left: 0, top: 0, textStyle: { color: css("--ink"), fontSize: 13, fontWeight: 600, width: byId(id).clientWidth - 10, overflow: "truncate" } };
    option.legend = { show: lines.length > 1, top: 24, left: 0, textStyle: { color: css("--ink") }, itemWidth: 26, itemHeight: 8 };
    option.grid.top = lines.length > 1 ? 60 : 36;
    option.xAxis = axis(Object.assign({ type: "value", min: 0, max: lastT }, xName(labels.time), { splitLine: { show: false } }));
    option.yAxis = axis({ type: "value", min: 0 });
    option.series = lines.map(function (line, i) {
      return {
        name: line[0], type: "line", symbol: line[1].length > 60 ? "none" : "circle", symbolSize: 4, connectNulls: false,
        data: series.t.map(function (t, k) { return [t, line[1][k]]; }),
        lineStyle: { color: line[2], width: 2, type: line[3] || "solid" }, itemStyle: { color: line[2] },
        markArea: i ? undefined : { silent: true, itemStyle: { color: css("--soft"), opacity: 0.14 }, data: areas.map(function (a) { return [{ xAxis: a[0] }, { xAxis: Math.min(a[1], lastT) }]; }) }
      };
    });
    if (series.t.length > 120) option.dataZoom = [{ type: "inside", zoomOnMouseWheel: "shift", moveOnMouseWheel: false }];
    option.tooltip = tooltip({ trigger: "axis", formatter: function (hits) {
      if (!hits.length) return "";
      var at = hits[0].value[0], index = series.t.indexOf(at);
      var lines = hits.map(function (hit) { return hit.seriesName + ": " + digits(hit.value[1]); });
      if (!series.measured[index]) lines.push(labels.not_measured);
      return tip(digits(at) + " s", lines);
    } });
    chart(id).setOption(option, true);
  }
  function drawSeries() {
    var point = data.points[+byId("series-point").value || 0];
    if (!point) return;
    var s = point.series, own = colour(point.platform), soft = css("--soft"), bad = css("--bad");
    panel("series-requests", labels.requests, s, [[labels.scheduled, s.scheduled, soft, "dashed"], [labels.sent, s.sent, css("--ink"), "dotted"], [labels.ok, s.ok, own], [labels.failed, s.failed, bad]]);
    panel("series-in-flight", labels.in_flight, s, [[labels.in_flight, s.in_flight, own]]);
    panel("series-tokens", labels.tokens, s, [[labels.tokens, s.tok, own]]);
    panel("series-ttft", labels.ttft_time, s, [[labels.p50, s.ttft_p50, own], [labels.max, s.ttft_max, own, "dotted"]]);
  }

  function add(select, value, text) {
    var option = document.createElement("option");
    option.value = value;
    option.textContent = text;
    select.appendChild(option);
  }
  function drawAll() {
    if (!data.points.length) return; // then the page has no place for charts either
    drawCurve();
    drawDistribution();
    drawSeries();
  }

  byId("theme").addEventListener("change", function () {
    root.setAttribute("data-theme", byId("theme").value);
    drawAll();
  });
  if (window.matchMedia) {
    var dark = window.matchMedia("(prefers-color-scheme: dark)");
    if (dark.addEventListener) dark.addEventListener("change", drawAll);
  }
  if (!data.points.length) return;

  data.groups.forEach(function (group, i) {
    add(byId("curve-group"), String(i), group.label);
    add(byId("dist-group"), String(i), group.label);
  });
  if (data.groups.length < 2) {
    document.querySelectorAll(".group-choice").forEach(function (label) { label.style.display = "none"; });
  }
  data.points.forEach(function (point, i) {
    add(byId("series-point"), String(i), point.label + (point.valid ? "" : " (" + labels.invalid + ")"));
  });
  fillLevels();
  var first = data.groups[0] && data.groups[0].levels[+byId("dist-level").value];
  if (first) byId("series-point").value = String(first.points[0]);

  document.querySelectorAll("#curve .controls").forEach(function (box) { box.addEventListener("change", drawCurve); });
  byId("dist-group").addEventListener("change", fillLevels);
  document.querySelectorAll("#distribution .controls").forEach(function (box) { box.addEventListener("change", drawDistribution); });
  byId("series-point").addEventListener("change", drawSeries);
  var waiting = null;
  window.addEventListener("resize", function () {
    clearTimeout(waiting);
    waiting = setTimeout(function () { Object.keys(charts).forEach(function (id) { charts[id].resize(); }); }, 80);
  });
  // Paper cannot unfold.
  var unfolded = [];
  window.addEventListener("beforeprint", function () {
    unfolded = Array.prototype.filter.call(document.querySelectorAll("details"), function (d) { return !d.open; });
    unfolded.forEach(function (d) { d.open = true; });
  });
  window.addEventListener("afterprint", function () { unfolded.forEach(function (d) { d.open = false; }); });
  drawAll();
})();
