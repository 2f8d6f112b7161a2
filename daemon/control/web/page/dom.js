/** @typedef {Node | string | null} Child */

/**
 * Foreign text becomes text or an attribute, never markup.
 * @template {keyof HTMLElementTagNameMap} N
 * @param {N} name
 * @param {Record<string, any>} [props]
 * @param {...Child} children
 */
export function el(name, props = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'role' || key === 'scope' || key.includes('-')) attribute(node, key, value);
    else /** @type {any} */ (node)[key] = value;
  }
  node.append(
    ...children.filter((child) => child !== null).map((child) => (typeof child === 'string' ? plain(child) : child)),
  );
  return node;
}

/**
 * @template {keyof SVGElementTagNameMap} N
 * @param {N} name
 * @param {Record<string, string>} attributes
 */
export function svg(name, attributes) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/**
 * @param {Element} node
 * @param {string} text
 */
export function setText(node, text) {
  const shown = plain(text);
  if (node.textContent !== shown) node.textContent = shown;
}

/**
 * Replaces control and direction characters, because a name must not look like another name.
 * @param {string} text
 */
export function plain(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '?');
}

/**
 * @param {Element} node
 * @param {string} name
 * @param {string | null} value
 */
export function attribute(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/**
 * @template {HTMLElement} [E=HTMLElement]
 * @param {string} id
 */
export function findElement(id) {
  return /** @type {E} */ (document.getElementById(id));
}

/**
 * Shows exactly these children. Moves only children whose place changes, because a moved child
 * loses the focus.
 * @param {Element} parent
 * @param {Element[]} children
 */
export function arrange(parent, children) {
  const kept = new Set(children);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  const focused = document.activeElement;
  let next = parent.firstElementChild;
  for (const child of children) {
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
  if (focused instanceof HTMLElement && focused !== document.activeElement && parent.contains(focused))
    focused.focus({ preventScroll: true });
}

const KEPT = 'nclust-theme';

/**
 * Follows the system's light or dark theme, until the user chooses.
 * @param {() => void} onChange
 */
export function startTheme(onChange) {
  const root = document.documentElement;
  const button = findElement('theme');
  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  /** @param {string | null} theme */
  const wear = (theme) => {
    attribute(root, 'data-theme', theme);
    button.setAttribute('aria-label', `Use ${isDark() ? 'light' : 'dark'} colours`);
    onChange();
  };
  const kept = localStorage.getItem(KEPT);
  wear(kept === 'dark' || kept === 'light' ? kept : null);
  button.addEventListener('click', () => {
    const theme = isDark() ? 'light' : 'dark';
    localStorage.setItem(KEPT, theme);
    wear(theme);
  });
}
