import { firstState, step } from '../../../../lib/monit/state.js';
import { view } from '../../../../lib/monit/view.js';
import { createKeyReader } from '../../../../lib/monit/keys.js';

export function stage(size, ...events) {
  let state = firstState(size, 1_000_000);
  const effects = [];
  const reader = createKeyReader();
  const give = (event) => {
    const after = step(state, event);
    state = after.state;
    effects.push(...after.effects);
  };
  for (const event of events) give(event);
  return {
    give,
    /** @param {string} keys  As a terminal sends them. */
    type(keys) {
      for (const key of [...reader.push(keys), ...reader.flush()]) give({ type: 'key', key });
    },
    state: () => state,
    effects,
    lines() {
      const { texts, columns } = view(state);
      return Array.from({ length: state.size.rows }, (_, y) =>
        texts
          .slice(y * columns, (y + 1) * columns)
          .join('')
          .trimEnd(),
      );
    },
    text() {
      return this.lines().join('\n');
    },
  };
}

export const SIZES = [
  [60, 16],
  [80, 24],
  [200, 50],
].map(([columns, rows]) => ({ columns, rows }));

export function entries(from, count, text = 'line') {
  return Array.from({ length: count }, (_, at) => ({
    id: 0,
    name: 'api',
    stream: 'out',
    line: `${text} ${from + at}`,
    atMs: 1,
  }));
}
