import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { ATTRIBUTES, findAttribute, listSpellings } from '../../../../lib/app-spec/table.js';
import { defineConfig } from '../../../../lib/index.js';
import { GENERATED } from '../../../generate/files.js';

const IN_ORDER = 'After a change of the schema: node test/generate/write.js';

test.each(GENERATED.map(({ file, text }) => [basename(file), file, text]))(
  '%s matches the schema',
  async (_, file, text) => {
    expect(readFileSync(file, 'utf8') === (await text()), IN_ORDER).toBe(true);
  },
);

test('no two attributes share a name', () => {
  for (const row of ATTRIBUTES)
    for (const word of listSpellings(row)) expect(findAttribute(word)?.name, word).toBe(row.name);
});

test('every attribute has a help text, accepted values and a JSON Schema', () => {
  for (const { name, help, accepted, schema, defaultText, unneeded } of ATTRIBUTES) {
    expect({ name, help, accepted, schema }, name).toEqual({
      name,
      help: expect.stringMatching(/\w/),
      accepted: expect.stringMatching(/\w/),
      schema: expect.any(Object),
    });
    if (unneeded === undefined && name !== 'script') expect(defaultText, name).toEqual(expect.any(String));
  }
});

// All attributes of PM2.
test.each([
  ['script', 'exec', 'cmd', 'command'],
  ['name'],
  ['namespace'],
  ['cwd'],
  ['args'],
  ['interpreter', 'exec_interpreter'],
  ['node_args', 'interpreterArgs', 'interpreter_args', 'nodeArgs'],
  ['instances'],
  ['exec_mode', 'execMode'],
  ['env'],
  ['filter_env'],
  ['out_file', 'out', 'output', 'out_log'],
  ['error_file', 'error', 'err', 'err_file', 'err_log'],
  ['log_file', 'log'],
  ['disable_logs'],
  ['log_type'],
  ['log_date_format'],
  ['time'],
  ['merge_logs', 'combine_logs'],
  ['pid_file', 'pid'],
  ['watch'],
  ['ignore_watch'],
  ['watch_delay'],
  ['watch_options'],
  ['max_memory_restart', 'maxMemoryRestart'],
  ['restart_delay'],
  ['exp_backoff_restart_delay'],
  ['min_uptime'],
  ['max_restarts'],
  ['autorestart'],
  ['autostart'],
  ['stop_exit_codes'],
  ['kill_timeout'],
  ['kill_retry_time'],
  ['treekill'],
  ['shutdown_with_message'],
  ['metrics'],
  ['wait_ready'],
  ['listen_timeout'],
  ['cron_restart', 'cron'],
  ['port'],
  ['increment_var'],
  ['instance_var'],
  ['uid', 'user'],
  ['gid'],
  ['username'],
  ['force'],
  ['execute_command'],
  ['append_env_to_name'],
  ['source_map_support'],
  ['disable_source_map_support'],
  ['vizion'],
  ['post_update'],
  ['windowsHide'],
  ['name_prefix'],
  ['install_url'],
  ['write'],
  ['pmx'],
  ['automation'],
  ['trace'],
  ['disable_trace'],
])('the attribute %s is known by all its names', (...words) => {
  for (const word of words) expect(findAttribute(word)?.name, word).toBe(words[0]);
});

test('defineConfig returns its argument', () => {
  const config = { apps: [{ name: 'api', script: './server.js' }] };
  expect(defineConfig(config)).toBe(config);
});
