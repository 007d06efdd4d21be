"use strict";
const element = id => document.getElementById(id);
const scene = JSON.parse(element("scene").textContent);
const canvas = document.querySelector("canvas");
const gl = canvas.getContext("webgl", {antialias: true, stencil: true, alpha: false});
if (!gl) element("sorry").hidden = false;

// ── numbers ──────────────────────────────────────────────────────────────────────────────────────

function decoded(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return bytes.buffer;
}
const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const plus = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const unit = a => { const n = Math.hypot(...a) || 1; return a.map(x => x / n); };

function rigid(x, y, z, w, i, j, k) {  // a pose as a matrix, column by column
  return [1 - 2 * (j * j + k * k), 2 * (i * j + w * k), 2 * (i * k - w * j), 0,
          2 * (i * j - w * k), 1 - 2 * (i * i + k * k), 2 * (j * k + w * i), 0,
          2 * (i * k + w * j), 2 * (j * k - w * i), 1 - 2 * (i * i + j * j), 0, x, y, z, 1];
}
function product(a, b) {
  const c = new Array(16);
  for (let j = 0; j < 16; j += 4) for (let i = 0; i < 4; i++)
    c[j + i] = a[i] * b[j] + a[4 + i] * b[j + 1] + a[8 + i] * b[j + 2] + a[12 + i] * b[j + 3];
  return c;
}
const at = (M, p) => [0, 1, 2].map(i => M[i] * p[0] + M[4 + i] * p[1] + M[8 + i] * p[2] + M[12 + i]);

// ── poses ────────────────────────────────────────────────────────────────────────────────────────

const upright = rigid(0, 0, 0, ...scene.upright);  // turns the world so that gravity points down the screen
const runs = scene.runs.map(run => ({...run, poses: new Float32Array(decoded(run.poses))}));
const [begin, end] = scene.time, duration = end - begin, last = scene.frames - 1;

function posesAt(run, frame) {  // of all bodies, the world first
  const i = Math.min(Math.floor(frame), last), s = frame - i, found = [upright], P = run.poses, width = 7 * scene.bodies;
  const next = i < last ? width : 0;
  for (let a = i * width; a < (i + 1) * width; a += 7) {
    const b = a + next, near = P[a + 3] * P[b + 3] + P[a + 4] * P[b + 4] + P[a + 5] * P[b + 5] + P[a + 6] * P[b + 6];
    const t = near < 0 ? -s : s, mixed = [0, 1, 2].map(k => P[a + k] + s * (P[b + k] - P[a + k]));
    const q = [3, 4, 5, 6].map(k => (1 - s) * P[a + k] + t * P[b + k]);
    found.push(product(upright, rigid(...mixed, ...unit(q))));
  }
  return found;
}
function middle(poses) {  // of the origins of all bodies
  if (poses.length < 2) return [0, 0, 0];
  const sum = poses.slice(1).reduce((s, M) => plus(s, M.slice(12, 15)), [0, 0, 0]);
  return sum.map(x => x / (poses.length - 1));
}

// ── WebGL ────────────────────────────────────────────────────────────────────────────────────────

function program(vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, "precision highp float;" + fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  const names = (count, info) => [...Array(gl.getProgramParameter(made, count)).keys()].map(k => gl[info](made, k).name);
  const table = (all, find) => Object.fromEntries(all.map(name => [name, gl[find](made, name)]));
  return {made, ...table(names(gl.ACTIVE_UNIFORMS, "getActiveUniform"), "getUniformLocation"),
          ...table(names(gl.ACTIVE_ATTRIBUTES, "getActiveAttrib"), "getAttribLocation")};
}
const SOLID = [`
  attribute vec3 point, outward; uniform mat4 pose, camera; varying vec3 normal;
  void main() { normal = (pose * vec4(outward, 0.)).xyz; gl_Position = camera * pose * vec4(point, 1.); }`, `
  uniform vec4 color; uniform vec3 light, eye; uniform bool shadow; varying vec3 normal;
  void main() {
    if (shadow) { gl_FragColor = color; return; }
    vec3 n = normalize(gl_FrontFacing ? normal : -normal);
    float lit = .56 + .10 * n.z + .12 * max(dot(n, eye), 0.) + .34 * max(dot(n, light), 0.);
    gl_FragColor = vec4(color.rgb * lit + .10 * pow(max(dot(n, normalize(light + eye)), 0.), 24.), color.a);
  }`];
const LINES = [`
  attribute vec3 from, to; attribute vec2 corner; uniform mat4 camera; uniform vec2 screen; uniform vec3 shift;
  uniform float width, nearest; varying float across; varying vec3 place;
  vec4 cut(vec4 a, vec4 b) { return a.w < nearest && b.w > nearest ? mix(a, b, (nearest - a.w) / (b.w - a.w)) : a; }
  void main() {
    vec4 a = camera * vec4(from + shift, 1.), b = camera * vec4(to + shift, 1.), c = cut(a, b), d = cut(b, a);
    vec2 along = (d.xy / d.w - c.xy / c.w) * screen;
    along = length(along) > 1e-6 ? normalize(along) : vec2(1., 0.);
    across = corner.y * (.5 * width + 1.);
    place = mix(from, to, corner.x);
    gl_Position = mix(c, d, corner.x);
    gl_Position.xy += vec2(-along.y, along.x) * across * 2. / screen * gl_Position.w;
  }`, `
  uniform vec4 color; uniform float width; uniform vec2 fade; varying float across; varying vec3 place;
  void main() {
    float alpha = color.a * (1. - smoothstep(.5 * width - .5, .5 * width + .5, abs(across)));
    gl_FragColor = vec4(color.rgb, alpha * (1. - smoothstep(fade.x, fade.y, length(place))));
  }`];

function stored(numbers) {
  const buffer = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.STATIC_DRAW);
  return buffer;
}
function mesh(of) {  // corners with normals: smooth where faces meet at less than 35°, sharp elsewhere
  const P = new Float32Array(decoded(of.vertices)), F = new Uint32Array(decoded(of.faces)), count = F.length / 3;
  const N = new Float32Array(F.length), U = new Float32Array(F.length), around = Array.from({length: P.length / 3}, () => []);
  for (let f = 0; f < count; f++) {
    const [a, b, c] = [0, 1, 2].map(k => P.subarray(3 * F[3 * f + k], 3 * F[3 * f + k] + 3)), u = minus(b, a), v = minus(c, a);
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    N.set(n, 3 * f);
    U.set(unit(n), 3 * f);
    for (let k = 0; k < 3; k++) around[F[3 * f + k]].push(f);
  }
  const out = new Float32Array(6 * F.length);
  for (let f = 0; f < count; f++) for (let k = 0; k < 3; k++) {
    const i = 3 * f + k, own = U.subarray(3 * f, 3 * f + 3), sum = [0, 0, 0];
    for (const g of around[F[i]]) if (dot(own, U.subarray(3 * g, 3 * g + 3)) > .82)
      for (let x = 0; x < 3; x++) sum[x] += N[3 * g + x];
    out.set(P.subarray(3 * F[i], 3 * F[i] + 3), 6 * i);
    out.set(sum, 6 * i + 3);
  }
  return {buffer: stored(out), count: F.length};
}
function segments(pairs) {  // each a quad that the shader makes some pixels wide
  const out = [], corners = [[0, -1], [1, -1], [1, 1], [0, -1], [1, 1], [0, 1]];
  for (const [a, b] of pairs) for (const corner of corners) out.push(...a, ...b, ...corner);
  return {buffer: stored(out), count: 6 * pairs.length};
}
function attributes(of, buffer, sizes) {
  const stride = 4 * Object.values(sizes).reduce((s, n) => s + n);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  let offset = 0;
  for (const [name, size] of Object.entries(sizes)) {
    gl.enableVertexAttribArray(of[name]);
    gl.vertexAttribPointer(of[name], size, gl.FLOAT, false, stride, offset);
    offset += 4 * size;
  }
}

// ── the scene ────────────────────────────────────────────────────────────────────────────────────

const rgb = hex => [1, 3, 5].map(k => parseInt(hex.slice(k, k + 2), 16) / 255);
const style = name => rgb(getComputedStyle(document.documentElement).getPropertyValue(name).trim().slice(0, 7));
const light = unit([.35, -.55, .76]);
const reach = Math.max(...minus(...(scene.follow ? scene.mechanism : scene.whole)).map(Math.abs), 1e-6);
const cell = [1, 2, 5, 10].map(k => k * 10 ** Math.floor(Math.log10(reach / 5))).find(x => x >= reach / 5);
const {axis, at: wall} = scene.grid, [e1, e2] = [0, 1, 2].filter(k => k !== axis);
const onGrid = (x, y) => { const p = [0, 0, 0]; p[e1] = x; p[e2] = y; return p; };
let solid, lines, meshes, grid, paths;

function prepare() {
  solid = program(...SOLID);
  lines = program(...LINES);
  meshes = scene.meshes.map(mesh);
  const far = 24 * cell, steps = [...Array(49).keys()].map(k => (k - 24) * cell);
  grid = segments(steps.flatMap(x => [[onGrid(x, -far), onGrid(x, far)], [onGrid(-far, x), onGrid(far, x)]]));
  paths = [];
  for (const run of runs) {
    const found = scene.traces.map(() => []);
    if (scene.traces.length) for (let f = 0; f <= last; f++) {
      const poses = posesAt(run, f);
      scene.traces.forEach((trace, k) => found[k].push(at(poses[trace.body], trace.point)));
    }
    scene.traces.forEach((trace, k) => {
      const path = segments(found[k].slice(1).map((p, i) => [found[k][i], p]));
      paths.push({...path, color: rgb(run.color || trace.color)});
    });
  }
}

// ── the view ─────────────────────────────────────────────────────────────────────────────────────

const view = {};
const NARROW = Math.tan(12 * Math.PI / 180);  // half of what is seen, up and down
let following = scene.follow, touched = false;

function axes() {  // right, up and back on the screen
  const [a, e] = [view.azimuth, view.elevation], [ca, sa, ce, se] = [Math.cos(a), Math.sin(a), Math.cos(e), Math.sin(e)];
  return [[-sa, ca, 0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]];
}
function resetView() {
  const asked = (new URLSearchParams(location.hash.slice(1)).get("view") || "").split(",").map(Number);
  const [azimuth, elevation] = asked.length === 2 && asked.every(isFinite) ? asked : scene.view;
  Object.assign(view, {azimuth: azimuth * Math.PI / 180, elevation: elevation * Math.PI / 180});
  const [low, high] = following ? scene.mechanism : scene.whole, frame = axes();
  view.target = low.map((x, k) => (x + high[k]) / 2);
  const aspect = innerWidth / innerHeight;
  view.distance = 0;
  for (let k = 0; k < 8; k++) {
    const corner = minus([0, 1, 2].map(i => (k >> i & 1 ? high : low)[i]), view.target);
    const [x, y, z] = frame.map(e => dot(e, corner));
    view.distance = Math.max(view.distance, 1.2 * Math.max(Math.abs(x) / aspect, Math.abs(y)) / NARROW + z);
  }
  view.distance ||= 1;
  view.target = plus(view.target, frame[1], -.07 * view.distance * NARROW);  // the bar covers what is below
  touched = false;
  ask();
}
function follow(on) {  // the target is told from the middle of the mechanism, or from the origin
  view.target = plus(view.target, middle(posesAt(runs[0], frameNow())), following === on ? 0 : on ? -1 : 1);
  following = on;
  element("follow").setAttribute("aria-pressed", on);
  ask();
}
function camera(target) {
  const [right, up, back] = axes(), d = view.distance, eye = plus(target, back, d), aspect = canvas.width / canvas.height;
  const looking = [0, 1, 2].flatMap(k => [right[k], up[k], back[k], 0]).concat([right, up, back].map(e => -dot(e, eye)), 1);
  const near = .02 * d, far = 10 * d + 20 * reach, f = 1 / NARROW;
  const lens = [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (near + far) / (near - far), -1, 0, 0, 2 * near * far / (near - far), 0];
  return {matrix: product(lens, looking), near, back};
}

// ── drawing ──────────────────────────────────────────────────────────────────────────────────────

function draw() {
  const sharp = Math.min(devicePixelRatio || 1, 2), sky = style("--sky"), ink = style("--ink"), quiet = style("--quiet");
  const [width, height] = [innerWidth, innerHeight].map(x => Math.round(x * sharp));
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
  gl.viewport(0, 0, width, height);
  gl.clearColor(...sky, 1);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  const frame = frameNow(), poses = runs.map(run => posesAt(run, frame));
  const target = following ? plus(view.target, middle(poses[0])) : view.target, eye = camera(target);

  const shift = target.map((x, k) => k === axis ? wall : Math.round(x / cell) * cell);
  gl.disable(gl.DEPTH_TEST);
  line(grid, eye, {color: [...quiet, .38], width: sharp, fade: [4 * cell, 16 * cell], shift});
  solids(eye, poses[0], {cast: true, color: [0, 0, 0, sky[0] > .5 ? .13 : .4]});
  gl.enable(gl.DEPTH_TEST);
  solids(eye, poses[0], {});
  runs.forEach((run, k) => { if (k) solids(eye, poses[k], {color: [...rgb(run.color), .38]}); });

  gl.depthMask(false);
  gl.disable(gl.DEPTH_TEST);
  for (const path of paths) line(path, eye, {color: [...path.color, .22], width: 1.5 * sharp});
  gl.enable(gl.DEPTH_TEST);
  for (const path of paths)
    line(path, eye, {color: [...path.color, 1], width: 2.2 * sharp, count: 6 * Math.floor(frame)});
  for (const {bodies, points, color, width} of scene.links) {
    const link = segments([bodies.map((body, k) => at(poses[0][body], points[k]))]);
    line(link, eye, {color: [...(color ? rgb(color) : ink), .9], width: width * sharp});
    gl.deleteBuffer(link.buffer);
  }
  gl.depthMask(true);
  element("clock").textContent = `${(begin + shown()).toFixed(2)} s`;
  if (document.activeElement !== element("slider") || playing) element("slider").value = shown();
}
function line(of, eye, {color, width, fade = [1e30, 2e30], shift = [0, 0, 0], count = of.count}) {
  gl.useProgram(lines.made);
  gl.uniformMatrix4fv(lines.camera, false, eye.matrix);
  gl.uniform2f(lines.screen, canvas.width, canvas.height);
  gl.uniform2f(lines.fade, ...fade);
  gl.uniform3f(lines.shift, ...shift);
  gl.uniform4f(lines.color, ...color);
  gl.uniform1f(lines.width, width);
  gl.uniform1f(lines.nearest, eye.near);
  attributes(lines, of.buffer, {from: 3, to: 3, corner: 2});
  gl.drawArrays(gl.TRIANGLES, 0, count);
}
function solids(eye, poses, {cast = false, color = null}) {
  // Shadows fall once on each place (stencil); of what is transparent the front is drawn alone (depth first).
  gl.useProgram(solid.made);
  gl.uniformMatrix4fv(solid.camera, false, eye.matrix);
  gl.uniform3f(solid.light, ...light);
  gl.uniform3f(solid.eye, ...eye.back);
  gl.uniform1i(solid.shadow, cast);
  const flattened = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
  for (let k = 0; k < 3; k++) {
    flattened[4 * axis + k] -= light[k] / light[axis];
    flattened[12 + k] = wall * light[k] / light[axis];
  }
  const clear = part => color !== null || part.color[3] < 1;
  const paint = part => {
    const of = meshes[part.mesh], pose = product(poses[part.body], rigid(...part.pose));
    gl.uniformMatrix4fv(solid.pose, false, cast ? product(flattened, pose) : pose);
    gl.uniform4f(solid.color, ...(color || part.color));
    attributes(solid, of.buffer, {point: 3, outward: 3});
    gl.drawArrays(gl.TRIANGLES, 0, of.count);
  };
  if (cast) {
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    scene.parts.filter(part => part.body).forEach(paint);
    gl.disable(gl.STENCIL_TEST);
    return;
  }
  scene.parts.filter(part => !clear(part)).forEach(paint);
  const veiled = scene.parts.filter(part => clear(part) && (part.body || !color));
  gl.enable(gl.POLYGON_OFFSET_FILL);
  gl.polygonOffset(1, 1);  // where a second motion is the same as the first, the first is seen
  gl.depthFunc(gl.LEQUAL);
  gl.colorMask(false, false, false, false);
  veiled.forEach(paint);
  gl.colorMask(true, true, true, true);
  veiled.forEach(paint);
  gl.disable(gl.POLYGON_OFFSET_FILL);
}
