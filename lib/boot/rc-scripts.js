import { shellQuote } from '../shared/shell-quote.js';

/** @import { Service } from './systemd.js' */

/**
 * OpenRC's supervise-daemon restarts the main process.
 * @param {Service} service
 */
export function openrcScript({ user, launcher, waitsForIp, stopSeconds }) {
  return `#!/sbin/openrc-run
description=${shellQuote(`nclust, process manager of ${user}`)}
supervisor=supervise-daemon
command=/bin/sh
command_args=${shellQuote(`${shellQuote(launcher)} daemon`)}
command_user=${shellQuote(user)}
respawn_delay=1
respawn_max=0
retry="TERM/${stopSeconds}/KILL/5"
rc_ulimit="-n 524288"
extra_started_commands="reload"

depend() {
  need localmount${waitsForIp ? ' net' : ''}
  use net dns logger
  after firewall
}

reload() {
  ebegin "Reloading the apps"
  su -s /bin/sh ${shellQuote(user)} -c ${shellQuote(reloadLine(launcher))}
  eend $?
}
`;
}

/**
 * FreeBSD's daemon(8) restarts the main process.
 * @param {Service} service
 */
export function freebsdScript({ name, user, launcher, waitsForIp }) {
  const word = identifier(name);
  const args = `-f -P /var/run/${word}.pid -R 1 -u ${shellQuote(user)} /bin/sh ${shellQuote(launcher)} daemon`;
  return `#!/bin/sh
#
# PROVIDE: ${word}
# REQUIRE: LOGIN FILESYSTEMS${waitsForIp ? ' NETWORKING' : ''}
# KEYWORD: shutdown
#
# Enable it with: sysrc ${word}_enable=YES

. /etc/rc.subr

name=${word}
rcvar=${word}_enable
load_rc_config "$name"
: "\${${word}_enable:=NO}"

pidfile="/var/run/$name.pid"
command=/usr/sbin/daemon
command_args=${shellQuote(args)}
extra_commands=reload
reload_cmd=${word}_reload

${word}_reload() {
  su -m ${shellQuote(user)} -c ${shellQuote(reloadLine(launcher))}
}

run_rc_command "$1"
`;
}

/** @param {Service} service */
export function openbsdScript({ user, home, launcher, stopSeconds }) {
  return `#!/bin/ksh

daemon=${shellQuote(`/bin/sh ${shellQuote(launcher)} daemon`)}
daemon_user=${shellQuote(user)}
daemon_timeout=${stopSeconds}

. /etc/rc.d/rc.subr

pexp=${shellQuote(`nclust daemon \\(${home.replace(/[.[\]{}()*+?^$|\\]/g, '\\$&')}\\)`)}
rc_bg=YES

rc_reload() {
  su -m ${shellQuote(user)} -c ${shellQuote(reloadLine(launcher))}
}

rc_cmd "$1"
`;
}

/**
 * The name of the service becomes a part of the names of shell variables.
 * @param {string} name
 */
export function identifier(name) {
  return name.replace(/[^A-Za-z0-9_]/g, '_');
}

/** @param {string} launcher */
function reloadLine(launcher) {
  return `/bin/sh ${shellQuote(launcher)} reload all`;
}
