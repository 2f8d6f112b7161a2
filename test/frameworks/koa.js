const { setTimeout: pause } = require('node:timers/promises');
const Koa = require('koa');

const app = new Koa();

app.use(async (context) => {
  if (context.path === '/slow') await pause(Number(context.query.ms));
  context.body = { pid: process.pid };
});

app.listen(process.env.PORT, () => console.log(`koa ${process.pid} listens`));
