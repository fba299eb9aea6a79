#!/usr/bin/env node
import { runProgram } from './program.ts';
import { endQuietlyOnBrokenPipe } from './terminal.ts';

endQuietlyOnBrokenPipe();
process.exitCode = await runProgram(process.argv.slice(2));
