// What the page was given. Matrices are addressed by places in the lists of `meta`.
const meta = JSON.parse(document.getElementById("meta").textContent);

function bytesOf(id) {
  const element = document.getElementById(id);
  const binary = atob(element.textContent.trim());
  element.textContent = "";  // the text is not needed again, and may be large
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function floatsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const floats = new Float32Array(bytes.byteLength / 4);
  for (let i = 0; i < floats.length; ++i) floats[i] = view.getFloat32(4 * i, true);
  return floats;
}

const R = meta.rows.length;
const C = meta.columns.length;
const H = meta.heads.length;
const L = meta.layers.length;

// "uint8": first the largest weight of each row as float32, then a byte a weight, 255 for it.
function weightsOf(bytes) {
  if (meta.encoding === "float32") return floatsOf(bytes);
  const count = L * H * R;
  const largest = floatsOf(bytes.subarray(0, 4 * count));
  const codes = bytes.subarray(4 * count);
  const weights = new Float32Array(codes.length);
  for (let i = 0; i < codes.length; ++i) weights[i] = codes[i] * largest[Math.floor(i / C)] / 255;
  return weights;
}

const raw = weightsOf(bytesOf("weights"));
const rollout = meta.has_rollout ? floatsOf(bytesOf("rollout")) : null;
const entropy = meta.has_entropy ? floatsOf(bytesOf("entropy")) : null;

// Matrix [R, C] of one head; [R, 1] for entropy.
function matrixOf(kind, layer, head) {
  if (kind === "rollout") return rollout;
  const place = layer * H + head;
  if (kind === "entropy") return entropy.subarray(place * R, (place + 1) * R);
  return raw.subarray(place * R * C, (place + 1) * R * C);
}

function largestOf(values) {
  let largest = 0;
  for (const value of values) if (value > largest) largest = value;
  return largest;
}

// 0xRRGGBB of a share of the scale; what was not sent is grey.
function colourOf(share) {
  if (!Number.isFinite(share)) return 0xc8c8c8;
  return meta.palette[Math.round(255 * Math.min(1, Math.max(0, share)))];
}

function cssOf(rgb) { return "#" + rgb.toString(16).padStart(6, "0"); }

function inkOn(rgb) {
  const light = 0.299 * (rgb >> 16) + 0.587 * (rgb >> 8 & 255) + 0.114 * (rgb & 255);
  return light > 140 ? "#000" : "#fff";
}

function show(value) { return Number.isFinite(value) ? value.toFixed(4) : "not sent"; }

const pieceOf = (token) => meta.tokens[token].piece;
// Isolated, so that a token of a right-to-left script does not reorder the sentence around it.
const quoted = (token) => "“\u2068" + pieceOf(token) + "\u2069”";
const rowPiece = (row) => quoted(meta.rows[row]);
const columnPiece = (column) => quoted(meta.columns[column]);
