import { RELOAD_OPTIONS, RESTART_OPTIONS, START_OPTIONS } from './config/options.js';

/** The options that describe an app, by the commands that take them. @type {Record<'start'|'reload'|'restart'|'none', import('./config/options.js').StartOption[]>} */
export const OPTIONS_OF = { start: START_OPTIONS, reload: RELOAD_OPTIONS, restart: RESTART_OPTIONS, none: [] };
