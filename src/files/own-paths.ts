import { realpathSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import type { FileProblem } from '../errors.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import type { FileText } from './file-text.ts';
import type { LoopName } from './loop-forms.ts';
import { type Path, problemAt } from './place.ts';

interface Surroundings {
  readonly file: FileText;
  readonly directory: string;
}

export interface StoryPaths {
  readonly input: Json | undefined;
  readonly problems: readonly FileProblem[];
}

/** The input, with the paths of stories from the root: they are relative to the file, wherever it is read. */
export const inputIn = (
  loop: LoopName,
  input: Json | undefined,
  { file, directory }: Surroundings,
): StoryPaths => {
  const stories = isJsonObject(input) ? input['stories'] : undefined;
  if (loop !== 'stories' || !isJsonObject(input) || !Array.isArray(stories)) return { input, problems: [] };
  const problems: FileProblem[] = [];
  const inside = (path: Json | undefined, place: Path): string | undefined => {
    if (typeof path !== 'string' || path === '' || path.includes('\0')) return undefined;
    if (isInside(directory, path)) return resolve(directory, path);
    problems.push(outside(file, place));
    return undefined;
  };
  const resolved = stories.map((story: Json, index): Json => {
    const place = ['input', 'stories', index];
    if (!isJsonObject(story)) return inside(story, place) ?? story;
    const path = inside(story['file'], [...place, 'file']);
    return path === undefined ? story : { ...story, file: path };
  });
  return { input: { ...input, stories: resolved }, problems };
};

const outside = (file: FileText, place: Path): FileProblem =>
  problemAt(file.valueAt(place), place, {
    problem: 'this path leads out of its folder',
    allowed: 'a path inside',
  });

/** Neither by ".." nor through a link. */
const isInside = (directory: string, path: string): boolean => {
  const target = resolve(directory, path);
  return isBelow(directory, target) && isBelow(realOf(directory), realOf(target));
};

const isBelow = (directory: string, target: string): boolean => {
  const way = relative(directory, target);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};

/** Where a path leads, as far as it is there. */
const realOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : resolve(realOf(parent), relative(parent, path));
  }
};
