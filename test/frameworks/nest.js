require('reflect-metadata');
const { NestFactory } = require('@nestjs/core');
const { Module } = require('@nestjs/common');

class AppModule {}
Module({})(AppModule);

async function main() {
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  app.getHttpAdapter().get('/', (req, res) => res.json({ pid: process.pid, framework: 'nest' }));
  await app.listen(process.env.PORT);
  console.log(`nest ${process.pid} listens`);
}

main();
