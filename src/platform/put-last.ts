/** Puts an entry last. Of more than `max` the one that was put longest ago goes: a Map keeps the order of insertion. */
export function putLast<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.keys().next();
  if (map.size > max && oldest.done === false) map.delete(oldest.value);
}
