export function worker({ id = 0, name = 'api', slot = 0, ...over } = {}) {
  return {
    id,
    name,
    slot,
    namespace: 'default',
    pid: 100 + id,
    status: 'online',
    startedAtMs: 1_000,
    isNode: true,
    restarts: 0,
    cpu: 1,
    memoryBytes: 10,
    delayP99Ms: 2,
    http: null,
    reportAgeMs: 100,
    ...over,
  };
}

export function sample(workers, atMs = 100_000) {
  const apps = [...new Set(workers.map(({ name }) => name))].map((name) => {
    const own = workers.filter((one) => one.name === name);
    return {
      ...own[0],
      workers: own.length,
      online: own.filter(({ status }) => status === 'online').length,
      cpu: own.reduce((sum, { cpu }) => sum + cpu, 0),
    };
  });
  return {
    atMs,
    host: { cpu: 5, cores: 2, memoryTotalBytes: 100, memoryUsedBytes: 40, diskTotalBytes: 100, diskUsedBytes: 40 },
    apps,
    workers,
  };
}
