// The views. Each draws from `state` alone; page.js says what changes it.
const state = {kind: "raw", layer: L - 1, head: 0, row: 0, column: null, colour: "selected"};
const byId = (id) => document.getElementById(id);
const matrix = () => matrixOf(state.kind, state.layer, state.head);
const width = () => state.kind === "entropy" ? 1 : C;

function place() {
  if (state.kind === "rollout") return "rollout over all layers";
  const head = meta.mean_heads ? "mean of heads" : "head " + meta.heads[state.head];
  return "layer " + meta.layers[state.layer] + ", " + head;
}

// Cells are sampled by their largest, so that a lone strong weight stays visible when small.
function drawThumbnail(canvas, values, columns, largest) {
  const w = Math.min(columns, 56), h = Math.min(R, 56);
  canvas.width = w;
  canvas.height = h;
  const context = canvas.getContext("2d");
  const image = context.createImageData(w, h);
  const cells = new Float32Array(w * h).fill(NaN);
  for (let row = 0; row < R; ++row) {
    for (let column = 0; column < columns; ++column) {
      const cell = Math.floor(row * h / R) * w + Math.floor(column * w / columns);
      const value = values[row * columns + column];
      if (!(cells[cell] >= value)) cells[cell] = value;
    }
  }
  cells.forEach((value, cell) => {
    const rgb = colourOf(value / (largest || 1));
    image.data.set([rgb >> 16, rgb >> 8 & 255, rgb & 255, 255], 4 * cell);
  });
  context.putImageData(image, 0, 0);
}

function drawModel() {
  byId("model-section").hidden = state.kind === "rollout";
  if (state.kind === "rollout") return;
  const largest = largestOf(state.kind === "entropy" ? entropy : raw);
  for (const cell of document.querySelectorAll("#model [role=gridcell]")) {
    const layer = Number(cell.dataset.layer), head = Number(cell.dataset.head);
    drawThumbnail(cell.firstChild, matrixOf(state.kind, layer, head), width(), largest);
  }
}

function markModel() {
  for (const cell of document.querySelectorAll("#model [role=gridcell]")) {
    const chosen = Number(cell.dataset.layer) === state.layer && Number(cell.dataset.head) === state.head;
    cell.setAttribute("aria-selected", chosen);
    cell.tabIndex = chosen ? 0 : -1;
  }
  byId("layer").value = state.layer;
  byId("head").value = state.head;
  byId("layer").disabled = byId("head").disabled = state.kind === "rollout";
}

function drawScale() {
  const context = byId("scale-bar").getContext("2d");
  for (let x = 0; x < 128; ++x) {
    context.fillStyle = cssOf(colourOf(x / 127));
    context.fillRect(x, 0, 1, 12);
  }
  byId("scale-min").textContent = "0";
  byId("scale-max").textContent = show(largestOf(matrix())) + (state.kind === "entropy" ? " nats" : "");
}

// Lines of the chosen token; of entropy, which has no second token, a bar a token.
function drawLines() {
  const canvas = byId("lines");
  const height = 22 * Math.max(R, C);
  canvas.style.height = height + "px";
  canvas.width = Math.max(1, canvas.clientWidth);
  canvas.height = height;
  const context = canvas.getContext("2d");
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line");
  const values = matrix(), largest = largestOf(values) || 1;
  if (state.kind === "entropy") {
    context.fillStyle = "rgb(" + line + ")";
    for (let row = 0; row < R; ++row) {
      context.fillRect(0, 22 * row + 4, canvas.width * values[row] / largest, 14);
    }
    return;
  }
  const stroke = (row, column, strength, emphasis) => {
    const share = values[row * C + column] / strength;
    if (!(share > 0.005)) return;
    context.strokeStyle = "rgba(" + line + "," + Math.min(1, share) * (emphasis ? 1 : 0.25) + ")";
    context.lineWidth = emphasis ? 1 + 4 * share : 1;
    context.beginPath();
    context.moveTo(0, 22 * row + 11);
    context.lineTo(canvas.width, 22 * column + 11);
    context.stroke();
  };
  // The other tokens' lines, faintly, as long as they do not hide everything.
  if (R * C <= 4096) for (let i = 0; i < R * C; ++i) stroke(Math.floor(i / C), i % C, largest, false);
  const own = largestOf(values.subarray(state.row * C, (state.row + 1) * C)) || 1;
  for (let column = 0; column < C; ++column) stroke(state.row, column, own, true);
}

function markTokens() {
  const mark = (options, chosen) => [...options].forEach((option, i) => {
    option.setAttribute("aria-selected", i === chosen);
    option.tabIndex = i === (chosen ?? 0) ? 0 : -1;
  });
  mark(byId("from").children, state.row);
  mark(byId("to").children, state.column);
  byId("to").hidden = state.kind === "entropy";
}

// One number a token for the text, NaN where there is none.
function tokenNumbers() {
  if (state.colour === "importance") return meta.importance;
  const numbers = new Array(meta.tokens.length).fill(NaN);
  const values = matrix();
  if (state.kind === "entropy") {
    meta.rows.forEach((token, row) => numbers[token] = values[row]);
  } else if (state.colour === "received") {
    meta.columns.forEach((token, column) => {
      let sum = 0;
      for (let row = 0; row < R; ++row) sum += values[row * C + column] || 0;
      numbers[token] = sum / R;
    });
  } else {
    meta.columns.forEach((token, column) => numbers[token] = values[state.row * C + column]);
  }
  return numbers;
}

function drawText() {
  const numbers = tokenNumbers(), largest = largestOf(numbers) || 1;
  for (const span of document.querySelectorAll("#text [role=button]")) {
    const token = Number(span.dataset.token), rgb = colourOf(numbers[token] / largest);
    span.style.backgroundColor = cssOf(rgb);
    span.style.color = inkOn(rgb);
    span.dataset.value = numbers[token];
    span.title = show(numbers[token]);
    span.setAttribute("aria-label", pieceOf(token) + ", " + show(numbers[token]));
    span.setAttribute("aria-pressed", meta.rows[state.row] === token);
  }
}

// The readout is what a screen reader hears; data-* have the numbers with all their digits.
function drawReadout() {
  const readout = byId("readout"), values = matrix();
  const value = state.kind === "entropy" ? values[state.row]
      : state.column === null ? NaN : values[state.row * C + state.column];
  Object.assign(readout.dataset, {kind: state.kind, layer: meta.layers[state.layer], head: meta.heads[state.head],
      from: meta.rows[state.row], to: state.column === null ? "" : meta.columns[state.column], value});
  let said = rowPiece(state.row);
  if (state.kind === "entropy") {
    said += " has an entropy of " + show(value) + " nats";
  } else if (state.column !== null) {
    said += " attends to " + columnPiece(state.column) + " with " + show(value);
  } else {
    const order = [...meta.columns.keys()].filter((c) => values[state.row * C + c] > 0)
        .sort((a, b) => values[state.row * C + b] - values[state.row * C + a]);
    said += " attends most to " + order.slice(0, 3)
        .map((c) => columnPiece(c) + " " + show(values[state.row * C + c])).join(", ");
  }
  readout.textContent = said + " (" + place() + ")";
  byId("view-title").textContent = place()[0].toUpperCase() + place().slice(1);
}

function drawNumbers() {
  const table = byId("numbers"), values = matrix(), isEntropy = state.kind === "entropy";
  table.caption.textContent = isEntropy ? "Entropy of each token's attention, " + place()
      : "Attention of token " + meta.rows[state.row] + " " + rowPiece(state.row) + ", " + place();
  const cell = (tag, text, scope) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (scope) made.scope = scope;
    return made;
  };
  table.tHead.rows[0].replaceChildren(...["#", "Token", isEntropy ? "Nats" : "Weight"].map((t) => cell("th", t, "col")));
  const tokens = isEntropy ? meta.rows : meta.columns;
  table.tBodies[0].replaceChildren(...tokens.map((token, i) => {
    const line = document.createElement("tr");
    const value = isEntropy ? values[i] : values[state.row * C + i];
    const number = cell("td", show(value));
    number.dataset.value = value;
    line.append(cell("td", token), cell("th", pieceOf(token), "row"), number);
    return line;
  }));
}
