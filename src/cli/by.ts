import { userInfo } from 'node:os';

/** Who is at this terminal: kept with what they decide. */
export const whoIsHere = ({ by }: { readonly by?: string | undefined }): string => {
  if (by !== undefined) return by;
  try {
    return userInfo().username;
  } catch {
    // A user without a name, as in some containers.
    return 'someone';
  }
};
