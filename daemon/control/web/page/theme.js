import { attribute, byId } from './dom.js';

const KEPT = 'nclust-theme';

/** Light or dark as the system has it, until somebody chooses. @param {() => void} onChange */
export function startTheme(onChange) {
  const root = document.documentElement;
  const button = byId('theme');
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches);
  /** @param {string|null} theme */
  const wear = (theme) => {
    attribute(root, 'data-theme', theme);
    button.setAttribute('aria-label', `Wear ${isDark() ? 'light' : 'dark'} colours`);
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
