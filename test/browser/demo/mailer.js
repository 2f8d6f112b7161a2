// A mailer that cannot connect to its mail server.
setTimeout(() => {
  throw new Error('connect ECONNREFUSED 127.0.0.1:2525');
}, 300);
