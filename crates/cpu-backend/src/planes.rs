//! Vectors of the secure field, stored as planes of coordinates, cut for tasks.

/// Cuts planes of `len` words each after every `tile` words.
///
/// A task thus gets the same range of every plane.
pub(crate) fn tiles<T>(planes: &mut [T], len: usize, tile: usize) -> Vec<Vec<&mut [T]>> {
    let count = planes.len() / len;
    let mut tiles: Vec<Vec<&mut [T]>> = (0..len.div_ceil(tile)).map(|_| Vec::with_capacity(count)).collect();
    for plane in planes.chunks_mut(len) {
        for (parts, part) in tiles.iter_mut().zip(plane.chunks_mut(tile)) {
            parts.push(part);
        }
    }
    tiles
}
