/** The config file of `nclust init simple`. */
export const SIMPLE = `module.exports = {
  apps: [{ name: 'app', script: './index.js' }],
};
`;

/** That of `nclust init`: every line of it is right as it stands. */
export const FULL = `// What "nclust start" runs in this folder. Every attribute: docs/config.md of nclust. PM2 reads it as well.
// With "import { defineConfig } from 'nclust'" in an .mjs file, an editor knows them, too.
module.exports = {
  apps: [
    {
      name: 'app',
      script: './index.js',

      // One process per CPU, sharing the port. Without it: one process.
      // instances: 'max',

      // args: '--port 3000',
      // node_args: '--max-old-space-size=400',

      // Variables. With "--env production" those of env_production count as well.
      env: { NODE_ENV: 'development' },
      env_production: { NODE_ENV: 'production' },

      // Reloaded, without losing a request, when files change, when it grows, or by the clock.
      // watch: ['src'],
      // max_memory_restart: '300M',
      // cron_restart: '0 3 * * *',

      // How long it may take from the request to stop until it is killed.
      // kill_timeout: '10s',
    },
  ],

  // nclust deploy production setup, then: nclust deploy production
  // deploy: {
  //   production: { user: 'node', host: 'example.com', ref: 'origin/main', repo: 'git@example.com:app.git', path: '/srv/app', 'post-deploy': 'npm ci && nclust startOrReload ecosystem.config.js --env production' },
  // },
};
`;
