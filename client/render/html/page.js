// What the reader does, and what follows.
function refresh() {
  markModel();
  markTokens();
  drawScale();
  drawLines();
  drawText();
  drawReadout();
  drawNumbers();
}

function chooseHead(layer, head) {
  state.layer = layer;
  state.head = head;
  refresh();
}

function chooseTokens(row, column) {
  if (row === state.row && column === state.column) return;
  const other = row !== state.row;
  state.row = row;
  state.column = column;
  markTokens();
  drawReadout();
  if (!other) return;
  drawLines();
  drawText();
  drawNumbers();
}

const limit = (value, count) => Math.min(count - 1, Math.max(0, value));

function addOptions(id, names) {
  byId(id).replaceChildren(...names.map(([value, name]) => new Option(name, value)));
}

function buildControls() {
  addOptions("layer", meta.layers.map((layer, i) => [i, layer]));
  addOptions("head", meta.heads.map((head, i) => [i, meta.mean_heads ? "mean" : head]));
  for (const [kind, data] of [["rollout", rollout], ["entropy", entropy]]) {
    const input = document.querySelector("input[value=" + kind + "]");
    input.disabled = data === null;
    if (data === null) input.parentNode.append(" (not in this page)");
  }
  const colours = [["selected", "attention of the chosen token"], ["received", "mean attention received"]];
  if (meta.importance.length > 0) colours.unshift(["importance", meta.importance_name || "importance"]);
  addOptions("colour", colours);
  state.colour = colours[0][0];
  byId("controls").reset();
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("kinds").addEventListener("change", (event) => {
    state.kind = event.target.value;
    state.column = null;
    drawModel();
    refresh();
  });
  byId("layer").addEventListener("change", (event) => chooseHead(Number(event.target.value), state.head));
  byId("head").addEventListener("change", (event) => chooseHead(state.layer, Number(event.target.value)));
  byId("colour").addEventListener("change", (event) => {
    state.colour = event.target.value;
    drawText();
  });
}

function buildModel() {
  for (let layer = 0; layer < L; ++layer) {
    const line = document.createElement("div");
    line.setAttribute("role", "row");
    const header = document.createElement("div");
    header.setAttribute("role", "rowheader");
    header.textContent = "L" + meta.layers[layer];
    line.append(header);
    for (let head = 0; head < H; ++head) {
      const cell = document.createElement("div");
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("aria-label", "layer " + meta.layers[layer] + ", " +
                        (meta.mean_heads ? "mean of heads" : "head " + meta.heads[head]));
      Object.assign(cell.dataset, {layer, head});
      const canvas = document.createElement("canvas");
      canvas.setAttribute("aria-hidden", "true");
      cell.append(canvas);
      line.append(cell);
    }
    byId("model").append(line);
  }
  byId("model").addEventListener("click", (event) => {
    const cell = event.target.closest("[role=gridcell]");
    if (cell) chooseHead(Number(cell.dataset.layer), Number(cell.dataset.head));
  });
  byId("model").addEventListener("keydown", (event) => {
    const cell = event.target.closest("[role=gridcell]");
    if (!cell) return;
    let layer = Number(cell.dataset.layer), head = Number(cell.dataset.head);
    if (event.key === "Enter" || event.key === " ") chooseHead(layer, head);
    else if (event.key === "ArrowUp") layer = limit(layer - 1, L);
    else if (event.key === "ArrowDown") layer = limit(layer + 1, L);
    else if (event.key === "ArrowLeft") head = limit(head - 1, H);
    else if (event.key === "ArrowRight") head = limit(head + 1, H);
    else if (event.key === "Home") head = 0;
    else if (event.key === "End") head = H - 1;
    else return;
    event.preventDefault();
    const next = byId("model").querySelector(
        "[data-layer=\"" + layer + "\"][data-head=\"" + head + "\"]");
    for (const each of document.querySelectorAll("#model [role=gridcell]")) each.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

function buildTokens() {
  const fill = (id, tokens) => byId(id).append(...tokens.map((token, i) => {
    const option = document.createElement("div");
    option.setAttribute("role", "option");
    option.dir = "auto";
    option.textContent = pieceOf(token);
    option.dataset.place = i;
    return option;
  }));
  fill("from", meta.rows);
  fill("to", meta.columns);
  const placeOf = (event) => {
    const option = event.target.closest("[role=option]");
    return option ? Number(option.dataset.place) : null;
  };
  for (const type of ["mouseover", "focusin", "click"]) {
    byId("from").addEventListener(type, (event) => {
      if (placeOf(event) !== null) chooseTokens(placeOf(event), type === "focusin" ? state.column : null);
    });
    byId("to").addEventListener(type, (event) => {
      if (placeOf(event) !== null) chooseTokens(state.row, placeOf(event));
    });
  }
  byId("view").addEventListener("keydown", (event) => {
    const steps = {ArrowUp: -1, ArrowDown: 1};
    const inTo = byId("to").contains(event.target);
    if (event.key in steps) {
      const step = steps[event.key];
      if (inTo) chooseTokens(state.row, limit((state.column ?? 0) + step, C));
      else chooseTokens(limit(state.row + step, R), state.column);
    } else if (event.key === "Home" || event.key === "End") {
      const last = event.key === "End";
      if (inTo) chooseTokens(state.row, last ? C - 1 : 0);
      else chooseTokens(last ? R - 1 : 0, state.column);
    } else if (event.key === "ArrowRight" && state.kind !== "entropy") {
      chooseTokens(state.row, inTo ? limit(state.column + 1, C) : state.column ?? 0);
      byId("to").children[state.column].focus();
    } else if (event.key === "ArrowLeft" && inTo) {
      if (state.column > 0) chooseTokens(state.row, state.column - 1);
    } else if (event.key === "Escape") {
      chooseTokens(state.row, null);
      byId("from").children[state.row].focus();
    } else {
      return;
    }
    event.preventDefault();
    if (inTo && state.column !== null) byId("to").children[state.column].focus();
    else if (!inTo && event.key !== "ArrowRight") byId("from").children[state.row].focus();
  });
}

// The text as it was sent, with its tokens in place; what no token covers stays plain.
function buildText() {
  const texts = meta.texts.map((text) => Array.from(text));
  const done = texts.map(() => 0);
  const last = new Map();
  meta.tokens.forEach((token, i) => { if (!token.special) last.set(token.segment, i); });
  meta.tokens.forEach((token, i) => {
    const span = document.createElement("span");
    const text = texts[token.segment];
    span.setAttribute("role", "button");
    span.tabIndex = i === 0 ? 0 : -1;
    span.dataset.token = i;
    span.dir = "auto";
    const placed = text && !token.special && token.start >= done[token.segment] && token.end > token.start;
    if (placed) {
      byId("text").append(text.slice(done[token.segment], token.start).join(""));
      span.textContent = text.slice(token.start, token.end).join("");
      done[token.segment] = token.end;
    } else {
      span.textContent = token.piece;
      span.className = "special";
    }
    byId("text").append(span);
    if (text && last.get(token.segment) === i) byId("text").append(text.slice(done[token.segment]).join(""));
  });
  const choose = (event) => {
    const span = event.target.closest("[role=button]");
    const row = span ? meta.rows.indexOf(Number(span.dataset.token)) : -1;
    if (row >= 0) chooseTokens(row, null);
    return span;
  };
  byId("text").addEventListener("click", choose);
  byId("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(event);
      return;
    }
    const step = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key];
    const span = event.target.closest("[role=button]");
    if (!step || !span) return;
    event.preventDefault();
    const spans = [...byId("text").querySelectorAll("[role=button]")];
    const next = spans[limit(spans.indexOf(span) + step, spans.length)];
    span.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

byId("answer").textContent = meta.labels.map((l) => l.label + " " + show(l.score)).join(", ");
byId("precision").textContent = meta.encoding === "float32"
    ? "The weights are exactly as the server sent them. Model " + meta.model + ", version " + meta.version + "."
    : "The weights are rounded to 1/255 of the largest of their row, because there are so many.";
buildControls();
buildModel();
buildTokens();
buildText();
drawModel();
refresh();
addEventListener("resize", drawLines);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawLines);
