// Loads the modules beside a bundled program with what V8 compiled of them before, from `<file>.cache`: a program that is started hundreds of
// times spends a third of its time on compiling the same code. With LOOPWRIGHT_CODE_CACHE=write it leaves what was compiled this time.

const { readFileSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { constants, Script } = require('node:vm');

/** What is to be kept, by the file that it is of. */
const compiled = new Map();
if (process.env.LOOPWRIGHT_CODE_CACHE === 'write')
  process.on('exit', () => {
    for (const [filename, script] of compiled) writeFileSync(`${filename}.cache`, script.createCachedData());
  });

const cacheOf = (file) => {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
};

require.extensions['.cjs'] = (module, filename) => {
  const script = new Script(Module.wrap(readFileSync(filename, 'utf8')), {
    filename,
    // One that was made by another version is ignored.
    cachedData: cacheOf(`${filename}.cache`),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  compiled.set(filename, script);
  const load = script.runInThisContext();
  load.call(
    module.exports,
    module.exports,
    Module.createRequire(filename),
    module,
    filename,
    path.dirname(filename),
  );
};
