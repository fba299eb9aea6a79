#!/usr/bin/env node
import { watchForBrokenPipe } from './broken-pipe.ts';
import { runProgram } from './program.ts';

watchForBrokenPipe();
process.exitCode = await runProgram(process.argv.slice(2));
