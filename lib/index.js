export { defineConfig } from './config/define-config.js';
export { connect } from './library/connect.js';
export { NclustError } from './shared/errors.js';
