/** @returns {string} */
export function renderExamples() {
  return `Start
  nclust start app.js                         one process
  nclust start app.js -i max                  one per CPU, sharing the port
  nclust start "npm run serve" --name web     a shell command
  nclust start worker.py                      any program
  nclust start ecosystem.config.js --env production

Deploy
  nclust reload api                           without losing a request
  nclust reload all --rollback-window 30s     and back when the new ones do worse
  nclust apply                                make what runs equal to the file

Look
  nclust list
  nclust describe api
  nclust logs api --lines 200 --grep error
  nclust doctor

Keep
  nclust startup                              at boot, too
  nclust update                               a new version, without an interruption

Every command has more: nclust help <command>
`;
}
