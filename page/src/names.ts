// Places the labels of points so that they overlap as little as possible.

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

interface Spot {
  x: number;
  y: number;
}

const LETTER = 6.8;
const HEIGHT = 14;
const POINT = 6.5;

/** The box of a point. */
export function around({ x, y }: Spot): Box {
  return boxOf(x - POINT, y - POINT, 2 * POINT, 2 * POINT);
}

/** Finds the box of a point's label within a picture and adds it to `taken`. */
export function placeName(spot: Spot, name: string, taken: Box[], within: { left: number; right: number; bottom: number }): Box {
  const wide = LETTER * name.length;
  const below = [18, -10, 32, -24, 46].map((down) => ({ x: spot.x - wide / 2, down }));
  const beside = [4, -8, 16].flatMap((down) => [{ x: spot.x + 10, down }, { x: spot.x - 10 - wide, down }]);
  const places = [...below, ...beside]
    .map(({ x, down }) => boxOf(Math.min(Math.max(x, within.left), within.right - wide), spot.y + down + 3 - HEIGHT, wide, HEIGHT))
    .filter((box) => box.top >= 0 && box.bottom <= within.bottom + 2);
  const covered = places.map((box) => taken.reduce((sum, other) => sum + overlap(box, other), 0));
  const best = places[covered.indexOf(Math.min(...covered))] ?? boxOf(spot.x, spot.y, wide, HEIGHT);
  taken.push(best);
  return best;
}

function boxOf(left: number, top: number, wide: number, high: number): Box {
  return { left, top, right: left + wide, bottom: top + high };
}

/** The area of the intersection of two boxes. */
function overlap(one: Box, other: Box): number {
  const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return Math.max(0, wide) * Math.max(0, high);
}
