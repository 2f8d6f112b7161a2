import { existsSync } from 'node:fs';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */

/**
 * A program that was started without naming an interpreter runs on the Node.js of the command that started it. Once that has been removed, as version
 * managers do when they upgrade, it runs on the one that runs the manager.
 * @param {AppSpec} spec
 * @param {object} [o]
 * @param {(path: string) => boolean} [o.exists]
 * @param {{execPath: string, version: string}} [o.own]
 * @returns {AppSpec}
 */
export function withPresentNode(spec, { exists = existsSync, own = process } = {}) {
  if (spec.kind !== 'node' || spec.interpreterGiven !== null || exists(spec.file)) return spec;
  return { ...spec, file: own.execPath, interpreter: own.execPath, nodeVersion: own.version };
}
