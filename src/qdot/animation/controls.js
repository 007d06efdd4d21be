// ── time ─────────────────────────────────────────────────────────────────────────────────────────

const REST = .8;  // seconds at the end, before it begins again
let now = 0, playing = false, speed = scene.speed, stale = true, before = 0;
const shown = () => Math.min(now, duration);
const frameNow = () => duration ? shown() / duration * last : 0;
const ask = () => { stale = true; };

function tick(stamp) {
  if (playing) {
    now += Math.min(stamp - before, 100) / 1000 * speed;  // a page that was hidden goes on where it was
    if (now > duration + REST * speed) now = 0;
  }
  before = stamp;
  if (playing || stale) { stale = false; draw(); }
  requestAnimationFrame(tick);
}
function play(on) {
  playing = on && duration > 0;
  if (playing && now >= duration) now = 0;
  element("play").textContent = playing ? "❚❚" : "▶";
  ask();
}
function goTo(time) {
  play(false);
  now = Math.min(Math.max(time, 0), duration);
  ask();
}
function step(frames) { goTo((Math.round(frameNow()) + frames) / Math.max(last, 1) * duration); }

// ── hands ────────────────────────────────────────────────────────────────────────────────────────

const pointers = new Map();
function turn(dx, dy) {
  view.azimuth -= .007 * dx;
  view.elevation = Math.min(Math.max(view.elevation + .007 * dy, -Math.PI / 2), Math.PI / 2);
}
function move(dx, dy) {
  const [right, up] = axes(), scale = 2 * view.distance * NARROW / innerHeight;
  view.target = plus(plus(view.target, right, -dx * scale), up, dy * scale);
}
function zoom(factor) { view.distance = Math.min(Math.max(view.distance * factor, .05 * reach), 60 * reach); }

canvas.onpointerdown = event => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, event);
};
canvas.onpointerup = canvas.onpointercancel = event => pointers.delete(event.pointerId);
canvas.onpointermove = event => {
  const old = pointers.get(event.pointerId);
  if (!old) return;
  const [dx, dy] = [event.clientX - old.clientX, event.clientY - old.clientY];
  const other = [...pointers.values()].find(p => p.pointerId !== event.pointerId);
  if (other) {
    const gap = p => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY) || 1;
    move(dx / 2, dy / 2);
    zoom(gap(old) / gap(event));
  } else if (event.shiftKey || event.buttons & 6) move(dx, dy);
  else turn(dx, dy);
  pointers.set(event.pointerId, event);
  touched = true;
  ask();
};
canvas.oncontextmenu = event => event.preventDefault();
canvas.ondblclick = resetView;
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(event.deltaY * (event.deltaMode ? .03 : .0012)));
  touched = true;
  ask();
}, {passive: false});

const speeds = [...new Set([.1, .2, .5, 1, 2, 4, scene.speed])].sort((a, b) => a - b);
function faster(steps) {
  const k = Math.min(Math.max(speeds.indexOf(speed) + steps, 0), speeds.length - 1);
  speed = speeds[k];
  element("speed").value = speed;
}
const KEYS = {
  " ": () => play(!playing), "ArrowLeft": e => step(e.shiftKey ? -10 : -1), "ArrowRight": e => step(e.shiftKey ? 10 : 1),
  "Home": () => goTo(0), "End": () => goTo(duration), "+": () => faster(1), "=": () => faster(1), "-": () => faster(-1),
  "f": () => follow(!following), "r": resetView, "?": () => document.querySelector("dialog").showModal(),
};
addEventListener("keydown", event => {
  const act = KEYS[event.key.length > 1 ? event.key : event.key.toLowerCase()];
  if (!act || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog").open) return;
  event.preventDefault();
  act(event);
});
document.querySelector("dialog").onclick = event => event.currentTarget.close();
element("play").onclick = () => play(!playing);
element("follow").onclick = () => follow(!following);
element("reset").onclick = resetView;
element("help").onclick = KEYS["?"];
element("slider").oninput = event => goTo(Number(event.target.value));
element("speed").onchange = event => { speed = Number(event.target.value); };
document.querySelectorAll("button, select").forEach(control => { control.onkeyup = e => e.key === " " && e.preventDefault(); });
addEventListener("resize", () => touched ? ask() : resetView());
matchMedia("(prefers-color-scheme: dark)").onchange = ask;

// ── begin ────────────────────────────────────────────────────────────────────────────────────────

function told(parent, text, color = null, kind = "") {  // names come from models, so they are text, never markup
  const entry = document.createElement("span");
  if (color) {
    const mark = document.createElement("i");
    mark.style.background = color;
    mark.className = kind;
    entry.append(mark);
  }
  entry.append(text);
  element(parent).append(entry);
}
if (runs.length > 1) for (const run of runs) told("legend", run.name, run.color || "#8fa3bf", "body");
for (const trace of scene.traces) told("legend", `path of ${trace.name}`, trace.color);
for (const note of scene.notes) told("notes", note);
element("scale").textContent = `grid ${Number(cell.toPrecision(3))} m`;
for (const x of speeds) element("speed").add(new Option(`×${x}`, x, false, x === speed));
element("slider").max = duration;
element("follow").setAttribute("aria-pressed", following);
if (!duration) document.body.classList.add("still");

function asked() {  // #t=2.5 shows that time; #view=30,20 looks from there [°]
  const time = new URLSearchParams(location.hash.slice(1)).get("t");
  resetView();
  if (time !== null && isFinite(time)) goTo(Number(time) - begin);
  else play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
}
if (gl) {
  prepare();
  asked();
  onhashchange = asked;
  canvas.addEventListener("webglcontextlost", event => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => { prepare(); ask(); });
  requestAnimationFrame(stamp => { before = stamp; tick(stamp); });
}
