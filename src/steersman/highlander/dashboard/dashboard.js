// The dashboard. State comes over /api/events, is kept in `seen`, and is drawn from there; actions go out with a
// token. Every value reaches the page as text.

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const STALE_MS = 5000;
const KINDS = { process: "Processes", cronjob: "Cron jobs", service: "Services", persistent: "Persistent sets" };
const TONES = {
  running: "ok", completed: "ok", starting: "busy", stopping: "busy", degraded: "warn", "backing-off": "warn",
  failed: "bad", refused: "bad", paused: "off", pending: "off", stopped: "off",
};
const ICONS = {
  restart: ["M4 10a6 6 0 1 1 2 4.5", "M4 17v-3.5h3.5"],
  pause: ["M7 5v10", "M13 5v10"],
  resume: ["M7 5l8 5-8 5z"],
};

const seen = { tenants: new Map(), controller: null, workloads: new Map(), history: [], pulse: null };
const shown = { filter: "all", search: "", tenant: new URLSearchParams(location.search).get("tenant") ?? "" };
let source = null, lastId = "", lastHeard = 0, clockOffset = 0, retryMs = 1000, retryTimer = 0;

// ── making elements ────────────────────────────────────────────────────────────────────────────────────────────

function make(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  for (const d of ICONS[name]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}

const dot = (tone) => make("i", { class: `dot ${tone}`, "aria-hidden": "true" });
const say = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };

// ── time ───────────────────────────────────────────────────────────────────────────────────────────────────────

const now = () => Date.now() + clockOffset;
const clockTime = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const fullTime = (iso) => new Date(iso).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });

function span(seconds) {
  const s = Math.max(0, Math.floor(seconds)), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  if (d > 0) return h % 24 && d < 10 ? `${d} d ${h % 24} h` : `${d} d`;
  if (h > 0) return m % 60 ? `${h} h ${m % 60} min` : `${h} h`;
  return m > 0 ? `${m} min` : `${s} s`;
}

function ago(iso, options = {}) {
  if (!iso) return make("span", options);
  return make("time", { datetime: iso, title: fullTime(iso), "data-since": iso, ...options },
    span((now() - Date.parse(iso)) / 1000));
}

function tellTimes() {
  for (const node of document.querySelectorAll("time[data-since]")) {
    const text = span((now() - Date.parse(node.dataset.since)) / 1000);
    if (node.textContent !== text) node.textContent = text;
  }
}

// ── the live stream ────────────────────────────────────────────────────────────────────────────────────────────

function connect() {
  source?.close();
  clearTimeout(retryTimer);
  const query = new URLSearchParams();
  if (shown.tenant) query.set("tenant", shown.tenant);
  if (lastId) query.set("lastEventId", lastId);
  source = new EventSource(`api/events?${query}`);
  for (const [name, take] of Object.entries(TAKES)) {
    source.addEventListener(name, (event) => {
      if (event.lastEventId) lastId = event.lastEventId;
      lastHeard = Date.now();
      retryMs = 1000;
      take(JSON.parse(event.data));
      linkState();
      drawSoon();
    });
  }
  source.onerror = () => {
    linkState();
    // The browser tries again by itself unless it was refused.
    if (source.readyState !== EventSource.CLOSED) return;
    retryTimer = setTimeout(connectAgain, retryMs);
    retryMs = Math.min(retryMs * 2, 15000);
    if (retryMs > 4000) lastId = "";
  };
}

async function connectAgain() {
  try {
    const tenants = (await (await fetch("api/tenants")).json()).data.map((one) => one.tenant);
    if (shown.tenant && tenants.length && !tenants.includes(shown.tenant)) {
      toast(`Tenant ${shown.tenant} was removed.`);
      return choose(tenants[0]);
    }
  } catch {
    // No response yet.
  }
  connect();
}

const TAKES = {
  snapshot(data) {
    clockOffset = Date.parse(data.now) - Date.now();
    shown.tenant = data.tenant;
    seen.tenants = new Map(data.tenants.map((tenant) => [tenant.tenant, tenant]));
    seen.controller = data.controller;
    seen.workloads = new Map(data.workloads.map((workload) => [workload.key, workload]));
    seen.history = data.history;
    seen.pulse = pulseOf(data.controller);
    changed.clear();
    rows.clear();
    $("groups").replaceChildren();
  },
  tenants(data) { seen.tenants = new Map(data.map((tenant) => [tenant.tenant, tenant])); },
  controller({ tenant, data }) {
    const { summary, ...controller } = data;
    seen.tenants.set(tenant, summary);
    if (tenant === shown.tenant) {
      seen.controller = controller;
      seen.pulse = pulseOf(controller);
    }
  },
  workload({ data }) {
    seen.workloads.set(data.key, data);
    changed.add(data.key);
  },
  "workload-gone"({ data }) { seen.workloads.delete(data.key); },
  transition({ data }) { seen.history = [...seen.history, data].slice(-200); },
  pulse(data) {
    clockOffset = Date.parse(data.now) - Date.now();
    seen.pulse = pulseOf(data);
    if (seen.controller && seen.controller.isLeader !== data.isLeader) seen.controller.isLeader = data.isLeader;
  },
};

const pulseOf = (data) => ({ at: Date.now(), margin: data.leaseMarginSeconds, lag: data.renewLagSeconds });

function linkState() {
  const quietMs = Date.now() - lastHeard;
  let state = "live", text = "Live";
  if (!lastHeard) [state, text] = ["connecting", "Connecting…"];
  else if (source.readyState !== EventSource.OPEN) [state, text] = ["lost", "Disconnected"];
  else if (quietMs > STALE_MS) [state, text] = ["stale", "Stale"];
  if (document.body.dataset.link !== state) {
    document.body.dataset.link = state;
    drawSoon();
  }
  if ($("link").lastElementChild.textContent !== text) $("link").lastElementChild.textContent = text;
}

// ── drawing ────────────────────────────────────────────────────────────────────────────────────────────────────

const changed = new Set();
const rows = new Map();
let drawing = 0;

function drawSoon() {
  drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    draw();
  });
}

function draw() {
  drawBanners();
  if (!seen.controller) return;
  drawTenants();
  drawLeader(seen.controller);
  drawHealth(seen.controller);
  drawTimeline();
  drawWorkloads();
  drawPods();
  drawGauge();
}

function drawBanners() {
  const link = document.body.dataset.link, controller = seen.controller, banners = [];
  const heard = lastHeard ? clockTime(lastHeard) : "";
  if (link === "lost") banners.push(["bad", `Disconnected. Showing the state of ${heard}; reconnecting.`]);
  if (link === "stale") banners.push(["warn", `No updates since ${heard}. The page may be out of date.`]);
  if (controller?.configError) banners.push(["warn", `The configuration was rejected: ${controller.configError}`]);
  if (controller?.notReady) banners.push(["bad", `Not ready: ${controller.notReady}`]);
  replaceIfChanged($("banners"), JSON.stringify(banners), () =>
    banners.map(([tone, text]) => make("div", { class: `banner ${tone}` }, text)));
}

function drawTenants() {
  const tenants = [...seen.tenants.values()];
  $("tenants").hidden = tenants.length < 2;
  replaceIfChanged($("tenants"), JSON.stringify([tenants, shown.tenant]), () => tenants.map((tenant) => make("button", {
    type: "button", "aria-current": String(tenant.tenant === shown.tenant),
    title: tenant.isLeader ? "This controller is the leader" : tenant.leader ? `Leader: ${tenant.leader}` : "No leader",
    onclick: () => choose(tenant.tenant),
  }, dot(!tenant.ready ? "bad" : tenant.isLeader ? "ok" : "off"), tenant.tenant,
  make("small", {}, `${tenant.active}/${tenant.workloads}`))));
}

// An owner is an id and what tells this start of it from others.
const short = (owner) => owner.replace(/(.)_[^_]*$/, "$1");

function drawLeader(controller) {
  const { leader, isLeader } = controller;
  say("where", [controller.cluster, controller.namespace].filter(Boolean).join(" / "));
  document.title = `${isLeader ? "● " : ""}${controller.tenant} – Highlander`;
  $("who").className = `who ${isLeader ? "mine" : leader ? "" : "none"}`;
  say("who", isLeader ? "This controller is the leader" : leader ? `${short(leader)} is the leader` : "No leader");
  const since = isLeader ? controller.leaderSince : controller.lastTransition;
  replaceIfChanged($("since"), JSON.stringify([since, controller.lastReason]), () =>
    since ? ["for ", ago(since), controller.lastReason ? ` · last change: ${controller.lastReason}` : ""] : []);
  facts($("leader-facts"), [
    ["Epoch", make("span", { class: "big" }, String(controller.epoch))],
    ["State", make("span", { title: controller.phaseDetail }, controller.phase)],
    ["Controller", make("span", { class: "mono", title: controller.owner }, controller.id)],
    ["Last leader", controller.lastLeader ? make("span", { class: "mono" }, short(controller.lastLeader)) : "–"],
    ["Failovers", String(controller.failovers)],
    ["Running for", ago(controller.startedAt)],
  ], JSON.stringify(controller, Object.keys(controller).filter((key) => !/Seconds$/.test(key)).sort()));
}

function facts(list, pairs, stamp) {
  replaceIfChanged(list, stamp, () => pairs.map(([name, value, style]) =>
    make("div", { class: style }, make("dt", {}, name), make("dd", {}, value))));
}

function drawHealth(controller) {
  const busy = [...seen.workloads.values()];
  const bad = busy.filter((one) => TONES[one.phase] === "bad" || TONES[one.phase] === "warn").length;
  const checks = [
    ["Ready", controller.ready, controller.ready ? "yes" : "no", ""],
    [`Storage · ${controller.storageType || "unknown"}`, controller.storageHealthy,
      controller.storageHealthy ? failures(controller.storageFailures) : "unreachable", controller.storageError],
    [`Cluster${controller.cluster ? ` · ${controller.cluster}` : ""}`, controller.clusterHealthy,
      controller.clusterHealthy ? "answers" : "unreachable", controller.clusterError],
    ["Workloads", !bad, bad ? `${bad} need attention` : busy.length ? "all healthy" : "none", ""],
  ];
  replaceIfChanged($("checks"), JSON.stringify(checks), () => checks.map(([name, good, word, error]) => make("li", {},
    dot(good ? "ok" : "bad"), make("span", {}, name), make("span", {}, word), error ? make("small", {}, error) : null)));
}

const failures = (count) => (count ? `answers · ${count} failure${count === 1 ? "" : "s"} so far` : "answers");

function drawTimeline() {
  const history = seen.history, hues = new Map();
  $("timeline").classList.toggle("nothing", !history.length);
  say("changes", history.length ? `${seen.controller.transitions} change${seen.controller.transitions === 1 ? "" : "s"}` : "no changes yet");
  replaceIfChanged($("strip"), JSON.stringify([history, Math.floor(now() / 60000)]), () => {
    if (!history.length) {
      $("axis").replaceChildren();
      return [make("p", {}, "There has been no leader since this controller started.")];
    }
    const start = Date.parse(history[0].timestamp), total = Math.max(now() - start, 1000);
    $("axis").replaceChildren(...[1, 0.75, 0.5, 0.25].map((part) =>
      make("span", {}, `${span((part * total) / 1000)} ago`)), make("span", {}, "now"));
    return history.flatMap((entry, index) => {
      if (!entry.to) return [];
      const from = Date.parse(entry.timestamp), next = history[index + 1], to = next ? Date.parse(next.timestamp) : now();
      const who = short(entry.to);
      if (!hues.has(who)) hues.set(who, hues.size % 5);
      const part = make("span", {
        class: `hue${hues.get(who)}`,
        title: `${entry.to}\nepoch ${entry.epoch}\n${fullTime(entry.timestamp)}, for ${span((to - from) / 1000)}`,
      }, make("b", {}, who));
      part.style.left = `${(100 * (from - start)) / total}%`;
      part.style.width = `${(100 * (to - from)) / total}%`;
      return [part];
    });
  });
  replaceIfChanged($("history"), JSON.stringify(history), () => [...history].reverse().map((entry) => make("li", {},
    make("time", { datetime: entry.timestamp }, fullTime(entry.timestamp)),
    make("span", { class: "mono" }, `#${entry.epoch}`),
    make("span", {}, `${entry.from ? short(entry.from) : "none"} → ${entry.to ? short(entry.to) : "none"} `,
      make("small", {}, entry.reason)))));
}

function wanted(workload) {
  const tone = TONES[workload.phase];
  if (shown.filter === "attention" && tone !== "bad" && tone !== "warn") return false;
  if (shown.filter === "paused" && !workload.paused) return false;
  return matches(workload.name, workload.namespace, ...workload.pods.map((pod) => pod.name));
}

const matches = (...texts) => !shown.search || texts.some((text) => text.toLowerCase().includes(shown.search));

function drawWorkloads() {
  const all = [...seen.workloads.values()], visible = all.filter(wanted);
  const running = all.filter((one) => TONES[one.phase] === "ok").length;
  say("workload-count", all.length ? `${running} of ${all.length} healthy` : "");
  drawFilters(all);
  const groups = [];
  for (const [kind, title] of Object.entries(KINDS)) {
    const members = visible.filter((one) => one.type === kind);
    if (!members.length) continue;
    const heading = make("h3", {}, title, make("small", {}, String(members.length)));
    groups.push(make("section", { class: "group" }, heading, make("ul", { class: "rows" }, ...members.map(rowOf))));
  }
  for (const key of rows.keys()) if (!seen.workloads.has(key)) rows.delete(key);
  changed.clear();
  const empty = all.length ? "No workload matches."
    : "No workloads yet. Add them to the configuration under workloads, or create custom resources for this tenant.";
  $("workloads").classList.toggle("nothing", !all.length);
  const active = document.activeElement?.id;
  if (groups.length) groups.unshift(legend());
  $("groups").replaceChildren(...(groups.length ? groups : [make("p", { class: "empty" }, empty)]));
  if (active && document.activeElement?.id !== active) $(active)?.focus();
}

const legend = () => make("div", { class: "legend", "aria-hidden": "true" },
  ...["", "", "State", "For", "Restarts", "Epoch", "Pods", ""].map((text) => make("span", {}, text)));

function rowOf(workload) {
  const known = rows.get(workload.key);
  if (known && !changed.has(workload.key)) return known;
  const row = drawRow(workload);
  if (known) row.classList.add("new");
  rows.set(workload.key, row);
  return row;
}

function drawRow(workload) {
  const { key, details } = workload, tone = TONES[workload.phase] ?? "off";
  const extras = [workload.namespace];
  if (details.schedule) extras.push(details.schedule);
  if (details.replicas !== undefined) extras.push(`${details.readyReplicas ?? 0}/${details.replicas} ready`);
  const pods = workload.pods.map((pod) => make("button", {
    type: "button", class: "link-button", title: pod.name, id: `pod ${key} ${pod.name}`, onclick: () => openPod(pod.name, pod.namespace),
  }, pod.name));
  return make("li", { class: "row", "data-key": key },
    dot(tone),
    make("div", { class: "name" }, workload.name, make("small", {}, extras.join(" · "))),
    make("span", { class: `phase ${tone}` }, workload.phase),
    make("div", { class: "meta" },
      ago(workload.lastTransition, { class: "cell" }),
      make("span", { class: "cell hot" }, workload.restarts ? String(workload.restarts) : "",
        workload.restarts ? make("span", { class: "unit" }, ` restart${workload.restarts === 1 ? "" : "s"}`) : null),
      make("span", { class: "cell mono", title: "Epoch" }, workload.epoch ? `#${workload.epoch}` : "")),
    make("div", { class: "links" }, ...pods),
    make("div", { class: "tools" }, tool("restart", workload), tool(workload.paused ? "resume" : "pause", workload)),
    workload.lastError ? make("div", { class: tone === "off" ? "error old" : "error" }, workload.lastError) : null);
}

const ABOUT = {
  restart: "The workload is stopped, and started again after it has ended. Until then, no copy is running.",
  pause: "The workload is stopped until you resume it, even under other leaders.",
  resume: "The workload is started again.",
};

function tool(action, workload) {
  const title = `${action[0].toUpperCase()}${action.slice(1)} ${workload.name}`;
  return make("button", {
    type: "button", class: "quiet", title, "aria-label": title, id: `${action} ${workload.key}`,
    onclick: () => ask(`${title}?`, ABOUT[action], action, `api/workloads/${workload.key.split("/").map(encodeURIComponent).join("/")}/${action}`),
  }, icon(action));
}

function drawFilters(all) {
  const attention = all.filter((one) => ["bad", "warn"].includes(TONES[one.phase])).length;
  const paused = all.filter((one) => one.paused).length;
  const filters = [["all", "All", all.length], ["attention", "Attention", attention], ["paused", "Paused", paused]];
  replaceIfChanged($("filters"), JSON.stringify([filters, shown.filter]), () => filters.map(([name, title, count]) => make("button", {
    type: "button", id: `filter-${name}`, "aria-pressed": String(shown.filter === name),
    onclick: () => { shown.filter = name; drawSoon(); },
  }, `${title} ${count}`)));
}

const podTone = (pod) => pod.status === "Failed" ? "bad" : pod.ready || pod.status === "Succeeded" ? "ok" : pod.status === "Terminating" ? "off" : "busy";

function drawPods() {
  const pods = [...seen.workloads.values()].flatMap((workload) => workload.pods);
  const visible = pods.filter((pod) => matches(pod.name, pod.namespace, pod.node, pod.workload));
  say("pod-count", pods.length ? String(pods.length) : "");
  replaceIfChanged($("pods"), JSON.stringify(visible.map(({ age, ...pod }) => pod)), () => visible.length ? visible.map((pod) => make("li", { class: "pod" },
    dot(podTone(pod)),
    make("button", { type: "button", class: "link-button", id: `pod ${pod.namespace} ${pod.name}`, onclick: () => openPod(pod.name, pod.namespace) }, pod.name),
    ago(pod.createdAt, { class: "cell" }),
    make("small", {}, [pod.reason || pod.status, pod.node, pod.ip, pod.restarts ? `${pod.restarts} restarts` : ""].filter(Boolean).join(" · "))))
    : [make("li", { class: "empty" }, pods.length ? "No pod matches." : "No pods are running.")]);
}

function replaceIfChanged(node, stamp, content) {
  if (node.stamp === stamp) return;
  node.stamp = stamp;
  const active = node.contains(document.activeElement) ? document.activeElement.id : "";
  node.replaceChildren(...content());
  if (active) $(active)?.focus();
}

// ── the gauge ──────────────────────────────────────────────────────────────────────────────────────────────────

function drawGauge() {
  const { controller, pulse } = seen;
  if (!controller || !pulse) return;
  const lease = controller.leaseDurationSeconds, gauge = $("gauge");
  const heard = document.body.dataset.link === "live";
  if (!heard || !controller.isLeader || pulse.margin === null || !lease) {
    gauge.setAttribute("class", "gauge off");
    $("gauge-value").setAttribute("stroke-dasharray", "0 100");
    say("gauge-number", !heard ? "unknown" : controller.isLeader ? "–" : "follower");
    say("gauge-unit", "");
    say("gauge-text", !heard ? "No connection to the controller."
      : controller.leader ? "Standby: ready to take over." : "Waiting to become the leader.");
    return;
  }
  const passed = Math.min((Date.now() - pulse.at) / 1000, 1.5);
  const margin = Math.max(0, pulse.margin - passed), part = Math.min(1, margin / lease);
  gauge.setAttribute("class", `gauge ${part > 0.45 ? "" : part > 0.2 ? "warn" : "bad"}`);
  $("gauge-value").setAttribute("stroke-dasharray", `${(100 * part).toFixed(2)} 100`);
  say("gauge-number", margin.toFixed(1));
  say("gauge-unit", `of ${lease} s`);
  say("gauge-text", pulse.lag === null ? "" : `Last renewed ${pulse.lag.toFixed(1)} s ago`);
}

// ── pods and their logs ────────────────────────────────────────────────────────────────────────────────────────

let openedPod = null;

function openPod(name, namespace) {
  const pod = [...seen.workloads.values()].flatMap((one) => one.pods).find((one) => one.name === name && one.namespace === namespace);
  if (!pod) return toast(`Pod ${name} is gone.`);
  openedPod = pod;
  say("pod-title", pod.name);
  facts($("pod-facts"), [
    ["Status", [pod.status, pod.reason].filter(Boolean).join(" · ")], ["Ready", pod.ready ? "yes" : "no"],
    ["Restarts", String(pod.restarts)], ["Epoch", String(pod.epoch)],
    ["Node", pod.node || "–"], ["Address", pod.ip || "–"], ["Controller", pod.controllerId || "–"],
    ["Running for", pod.startedAt ? ago(pod.startedAt) : "–"],
    ["Workload", make("span", { class: "mono" }, pod.workload), "whole"],
    [pod.images.length > 1 ? "Images" : "Image", make("span", { class: "mono" }, pod.images.join(", ") || "–"), "whole"],
  ], JSON.stringify(pod));
  $("container").replaceChildren(...pod.containers.map((container) => make("option", { value: container }, container)));
  $("container").hidden = pod.containers.length < 2;
  $("logs").textContent = token() ? "" : "Logs require the token.";
  $("pod").showModal();
  if (token()) loadLogs();
}

async function loadLogs() {
  const pod = openedPod, query = new URLSearchParams({ tenant: shown.tenant, tail: "200" });
  if ($("container").value) query.set("container", $("container").value);
  const answer = await guarded(`api/pods/${encodeURIComponent(pod.namespace)}/${encodeURIComponent(pod.name)}/logs?${query}`);
  if (!answer || openedPod !== pod) return;
  const text = answer.ok ? await answer.text() : `No logs: ${await problemOf(answer)}`;
  $("logs").textContent = text || "The log is empty.";
  $("logs").scrollTop = $("logs").scrollHeight;
}

// ── actions and the token ──────────────────────────────────────────────────────────────────────────────────────

const token = () => sessionStorage.getItem("highlander-token") ?? "";

async function guarded(path, method = "GET") {
  // The browser may have a certificate that is enough.
  let problem = location.protocol === "https:" ? null : "";
  for (;;) {
    if (problem !== null && !token() && !(await askToken(problem))) return null;
    const options = { method, headers: token() ? { Authorization: `Bearer ${token()}` } : {} };
    // Browsers give up on requests when the machine's network changes; reading can be tried again.
    const again = method === "GET" ? () => fetch(path, options) : () => Promise.reject();
    const answer = await fetch(path, options).catch(again).catch(() => null);
    if (!answer) {
      toast("The controller cannot be reached.");
      return null;
    }
    if (answer.status !== 401) return answer;
    sessionStorage.removeItem("highlander-token");
    problem = await problemOf(answer);
  }
}

async function problemOf(answer) {
  try {
    return (await answer.json()).error ?? answer.statusText;
  } catch {
    return answer.statusText || String(answer.status);
  }
}

function askToken(problem) {
  const dialog = $("token");
  say("token-problem", problem);
  $("token-value").value = "";
  dialog.showModal();
  return new Promise((resolve) => {
    $("token-form").onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem("highlander-token", $("token-value").value.trim());
      dialog.close("given");
    };
    dialog.onclose = () => {
      resolve(dialog.returnValue === "given");
      dialog.returnValue = "";
    };
  });
}

function ask(title, about, word, path) {
  say("act-title", title);
  say("act-about", about);
  $("act-choices").replaceChildren();
  const go = $("act-go");
  go.hidden = false;
  say("act-go", word[0].toUpperCase() + word.slice(1));
  go.onclick = () => {
    $("act").close();
    perform(title.replace(/\?$/, ""), path);
  };
  if (!$("act").open) $("act").showModal();
  go.focus();
}

async function perform(title, path) {
  const answer = await guarded(`${path}?${new URLSearchParams({ tenant: shown.tenant })}`, "POST");
  if (!answer) return;
  if (!answer.ok) return toast(`${title}: ${await problemOf(answer)}`);
  toast(answer.status === 202 ? `${title}: under way` : `${title}: done`);
}

const CONTROLLER_ACTIONS = [
  ["step-down", "Step down", "Stops the workloads, so that another controller takes over. This controller contends again after a pause.", (c) => c.isLeader],
  ["drain", "Drain", "Steps down and does not contend for the lock until undrained.", (c) => c.phase !== "drained"],
  ["undrain", "Undrain", "Lets this controller contend for the lock again.", (c) => c.phase === "drained"],
  ["reload", "Reload the configuration", "Reloads the file. An invalid file changes nothing.", () => true],
];

function openActions() {
  if (!seen.controller) return;
  say("act-title", `Actions on ${seen.controller.id}`);
  say("act-about", `Tenant ${shown.tenant}`);
  $("act-go").hidden = true;
  $("act-choices").replaceChildren(...CONTROLLER_ACTIONS.filter(([, , , possible]) => possible(seen.controller)).map(([name, title, about]) =>
    make("button", { type: "button", onclick: () => ask(`${title}?`, about, title.split(" ")[0] === "Reload" ? "reload" : title, `api/${name}`) },
      title, make("small", {}, about))));
  $("act").showModal();
}

function toast(text) {
  const node = make("div", { class: "toast" }, text);
  $("toasts").append(node);
  setTimeout(() => node.remove(), 6000);
}

// ── what people do ─────────────────────────────────────────────────────────────────────────────────────────────

function choose(tenant) {
  shown.tenant = tenant;
  lastId = "";
  const query = new URLSearchParams(location.search);
  query.set("tenant", tenant);
  history.replaceState(null, "", `?${query}`);
  connect();
}

const stored = localStorage.getItem("highlander-theme");
if (stored) document.documentElement.dataset.theme = stored;
$("theme").onclick = () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("highlander-theme", document.documentElement.dataset.theme);
};
$("actions").onclick = openActions;
$("load-logs").onclick = loadLogs;
$("container").onchange = loadLogs;
$("search").oninput = () => { shown.search = $("search").value.trim().toLowerCase(); drawSoon(); };
for (const button of document.querySelectorAll("[data-close]")) button.onclick = () => button.closest("dialog").close();
document.addEventListener("keydown", (event) => {
  if (event.target.closest?.("input, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { event.preventDefault(); $("search").focus(); }
  if (event.key === "a") openActions();
});
$("search").addEventListener("keydown", (event) => {
  if (event.key === "Escape") { $("search").value = ""; $("search").oninput(); $("search").blur(); }
});
const calm = matchMedia("(prefers-reduced-motion: reduce)");
setInterval(() => { if (!document.hidden && !calm.matches) drawGauge(); }, 100);
setInterval(() => { linkState(); if (!document.hidden) tellTimes(); }, 1000);
fetch("openapi.json").then((answer) => answer.json()).then((api) => say("version", `Steersman ${api.info.version}`), () => {});
connect();
