//! Memory of a queue: allocation, and copies into, out of and within it.

use core::fmt::Debug;

use backend_api::{
    BackendError, BackendKind, Buffer, BufferMut as _, BufferRef as _, Element, Queue, Register, as_words, from_words,
};
use core_types::field::M31;

use crate::{Buf, Case, Conditioned, Failure, OpSpec};

/// Lengths around words, vectors, pages and the pieces that copies are cut into.
const LENGTHS: [usize; 12] = [0, 1, 3, 31, 64, 257, 4095, 65_537, (1 << 18) + 5, (1 << 20) - 1, (1 << 21) + 1, 5 << 20];

/// Elements at which a view begins and ends inside its buffer.
const INSETS: [(usize, usize); 4] = [(0, 0), (3, 5), (1, 0), (16, 1)];

/// The insets for views of `len` elements.
///
/// Large copies are cut into pieces the same way wherever they begin: one aligned view and one that
/// is not are enough.
fn insets(len: usize) -> &'static [(usize, usize)] {
    if len > 1 << 17 { &INSETS[..2] } else { &INSETS }
}

/// The specifications of [`Queue`] and [`Register`].
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![
        spec("queue.zeros", &[("u64", zeros)]),
        spec("queue.clear", &[("u8", clear::<u8>), ("M31", clear::<M31>)]),
        spec("queue.write", &[("u8", write::<u8>), ("u64", write::<u64>), ("M31", write::<M31>)]),
        spec("queue.write_parts", &[("u8", write_parts::<u8>), ("M31", write_parts::<M31>)]),
        spec("queue.words", &[("u64", words::<u64>), ("M31", words::<M31>)]),
        spec("queue.elements", &[("u64 and u128", elements)]),
        spec("queue.read_only", &[("u64", read_only)]),
        spec("queue.host_view", &[("u8", host_view::<u8>), ("M31", host_view::<M31>)]),
        spec("queue.write_secret", &[("u8", write_secret::<u8>), ("M31", write_secret::<M31>)]),
        spec("queue.register", &[("u8", register::<u8>), ("M31", register::<M31>)]),
        spec("queue.copy", &[("u8", copy::<u8>), ("u64", copy::<u64>)]),
    ]
}

/// The name of an element type, and the check of buffers of a length.
type LengthCheck = (&'static str, fn(&Conditioned, usize) -> Result<(), Failure>);

/// Each check on each length.
fn spec(op: &'static str, checks: &[LengthCheck]) -> OpSpec {
    let mut cases = Vec::new();
    for &(name, check) in checks {
        for len in LENGTHS {
            let elements = if len <= 1 << 20 { 0 } else { len as u64 };
            cases.push(Case::new(format!("{name}, {len}"), move |q| check(q, len)).on_elements(elements));
        }
    }
    OpSpec { op, cases }
}

/// Element `index` of test data.
fn word(index: usize) -> u64 {
    (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A host element made from a word.
trait HostElement: Element + PartialEq + Debug {
    fn of(word: u64) -> Self;
}

impl HostElement for u8 {
    fn of(word: u64) -> Self {
        (word >> 56) as Self
    }
}

impl HostElement for u64 {
    fn of(word: u64) -> Self {
        word
    }
}

impl HostElement for M31 {
    fn of(word: u64) -> Self {
        Self::from_u32((word >> 33) as u32)
    }
}

fn data<T: HostElement>(len: usize, salt: usize) -> Vec<T> {
    (0..len).map(|i| T::of(word(i ^ salt << 40))).collect()
}

fn zeros(q: &Conditioned, len: usize) -> Result<(), Failure> {
    // memory that was used before
    drop(q.upload(&data::<u64>(len, 1))?);
    Failure::unless_equal(&vec![0; len], &q.download(&q.zeros::<u64>(len)?)?)
}

/// Clears the middle of a buffer and checks that its surroundings are unchanged.
fn clear<T: HostElement>(q: &Conditioned, len: usize) -> Result<(), Failure> {
    for &(before, after) in insets(len) {
        let mut whole = data::<T>(before + len + after, 1);
        let mut buf = q.upload(&whole)?;
        q.clear(buf.slice_mut(before..before + len)?)?;
        whole[before..before + len].fill(T::zeroed());
        Failure::unless_equal(&whole, &q.download(&buf)?)?;
    }
    Failure::unless_equal(&vec![T::zeroed(); len], &q.download(&q.zeros::<T>(len)?)?)
}

/// Writes and reads back the middle of a buffer; its surroundings must be unchanged.
fn write<T: HostElement>(q: &Conditioned, len: usize) -> Result<(), Failure> {
    for &(before, after) in insets(len) {
        let mut whole = data::<T>(before + len + after, 1);
        let mut buf = q.upload(&whole)?;
        let new = data::<T>(len, 2);
        q.write(&new, buf.slice_mut(before..before + len)?)?;
        Failure::unless_equal(&new, &q.read(buf.slice(before..before + len)?)?)?;
        whole[before..before + len].copy_from_slice(&new);
        Failure::unless_equal(&whole, &q.download(&buf)?)?;
    }
    let mut buf = q.zeros::<T>(len)?;
    Failure::unless_refused("one element more", q.write(&data::<T>(len + 1, 3), buf.view_mut()))
}

/// Writes host slices as one contiguous range; its surroundings must be unchanged.
fn write_parts<T: HostElement>(q: &Conditioned, len: usize) -> Result<(), Failure> {
    let new = data::<T>(len, 2);
    for &(before, after) in insets(len) {
        let mut whole = data::<T>(before + len + after, 1);
        let mut buf = q.upload(&whole)?;
        // of a few lengths, an empty one among them
        let bounds = [0, len / 3, len / 3, (len / 3 + 17).min(len), len];
        let parts: Vec<&[T]> = bounds.windows(2).map(|bound| &new[bound[0]..bound[1]]).collect();
        q.write_parts(&parts, buf.slice_mut(before..before + len)?)?;
        whole[before..before + len].copy_from_slice(&new);
        Failure::unless_equal(&whole, &q.download(&buf)?)?;
    }
    let mut many = q.zeros::<T>(len.min(4095))?;
    let parts: Vec<&[T]> = new[..len.min(4095)].chunks(1).collect();
    q.write_parts(&parts, many.view_mut())?;
    Failure::unless_equal(&new[..len.min(4095)], &q.download(&many)?)?;
    let mut buf = q.zeros::<T>(len)?;
    let one = data::<T>(1, 3);
    Failure::unless_refused("one element more", q.write_parts(&[&new, &one], buf.view_mut()))?;
    Failure::unless_equal(&vec![T::zeroed(); len], &q.download(&buf)?)
}

/// Words of the middle of a buffer are its bytes, and elements again.
fn words<T: HostElement>(q: &Conditioned, len: usize) -> Result<(), Failure> {
    for &(before, after) in insets(len) {
        let whole = data::<T>(before + len + after, 1);
        let buf = q.upload(&whole)?;
        let words = q.read(q.words(buf.slice(before..before + len)?))?;
        Failure::unless_equal(as_words(&whole[before..before + len]), &words)?;
        Failure::unless_equal(&whole[before..before + len], &from_words::<T>(&words)?)?;
    }
    Ok(())
}

/// Words of a buffer, read as elements of two types. Parts of an element are refused.
fn elements(q: &Conditioned, len: usize) -> Result<(), Failure> {
    let host: Vec<u128> = (0..len.div_ceil(4)).map(|i| u128::from(word(i)) << 64 | i as u128).collect();
    let buf = q.upload(&host)?;
    let words = q.words(buf.view());
    Failure::unless_equal(&host, &q.read(q.elements::<u128>(words)?)?)?;
    Failure::unless_equal(bytemuck::cast_slice::<u128, u64>(&host), &q.read(q.elements::<u64>(words)?)?)?;
    if len > 0 {
        Failure::unless_equal(&host[..1], &q.read(q.elements::<u128>(words.slice(0..4)?)?)?)?;
        for part in [1..3, 0..3] {
            Failure::unless_refused("part of an element", q.elements::<u64>(words.slice(part)?).map(|_| ()))?;
        }
    }
    Ok(())
}

/// One half of a buffer is read while the other is written.
fn read_only(q: &Conditioned, len: usize) -> Result<(), Failure> {
    let mut whole = data::<u64>(2 * len, 1);
    let mut buf = q.upload(&whole)?;
    let (from, to) = buf.view_mut().split_at(len)?;
    q.copy(Buf::read_only(from), to)?;
    whole.copy_within(..len, len);
    Failure::unless_equal(&whole, &q.download(&buf)?)
}

/// The host's memory in place.
///
/// A processor reads and writes it; no other device has a view of it.
fn host_view<T: HostElement>(q: &Conditioned, len: usize) -> Result<(), Failure> {
    let (mut host, buf) = (data::<T>(len, 1), q.upload(&data::<T>(len, 2))?);
    let mut copy = q.zeros::<T>(len)?;
    let is_shared = q.caps().kind == BackendKind::Cpu;
    Failure::unless_equal(&[is_shared], &[q.host_view(&host).is_some()])?;
    if let Some(view) = q.host_view(&host) {
        Failure::unless_equal(&host, &q.read(view)?)?;
        q.copy(view, copy.view_mut())?;
        Failure::unless_equal(&host, &q.download(&copy)?)?;
    }
    Failure::unless_equal(&[is_shared], &[q.host_view_mut(&mut host).is_ok()])?;
    if let Ok(view) = q.host_view_mut(&mut host) {
        q.copy(buf.view(), view)?;
        Failure::unless_equal(&data::<T>(len, 2), &host)?;
    }
    Ok(())
}

/// Secrets arrive like other data, among other data, and are refused like other data.
fn write_secret<T: HostElement>(q: &Conditioned, len: usize) -> Result<(), Failure> {
    for &(before, after) in insets(len) {
        let mut whole = data::<T>(before + len + after, 1);
        let mut buf = q.upload(&whole)?;
        let new = data::<T>(len, 2);
        q.write_secret(&new, buf.slice_mut(before..before + len)?)?;
        Failure::unless_equal(&new, &q.read_secret(buf.slice(before..before + len)?)?)?;
        whole[before..before + len].copy_from_slice(&new);
        Failure::unless_equal(&whole, &q.download(&buf)?)?;
    }
    let (host, one) = (data::<T>(len, 3), data::<T>(1, 4));
    Failure::unless_equal(&host, &q.download_secret(&q.upload_secret(&host)?)?)?;
    let mut buf = q.zeros::<T>(len)?;
    q.write_secret_parts(&[&host[..len / 3], &[], &host[len / 3..]], buf.view_mut())?;
    Failure::unless_equal(&host, &q.download_secret(&buf)?)?;
    Failure::unless_refused("one element more in parts", q.write_secret_parts(&[&host, &one], buf.view_mut()))?;
    let mut listed = q.zeros::<T>(len)?;
    q.write_with_lists(&[&host[..len / 3]], &[&host[len / 3..]], listed.view_mut())?;
    Failure::unless_equal(&host, &q.download_secret(&listed)?)?;
    let more = q.write_with_lists(&[&host], &[&one], listed.view_mut());
    Failure::unless_refused("one element more behind a list", more)?;
    Failure::unless_equal(&host, &q.download_secret(&buf)?)?;
    Failure::unless_refused("one element more", q.write_secret(&data::<T>(len + 1, 3), buf.view_mut()))
}

/// Copies from and to parts of registered memory; their surroundings must be unchanged.
fn register<T: HostElement>(q: &Conditioned, len: usize) -> Result<(), Failure> {
    for &(before, after) in insets(len) {
        let (first, last) = (after, before);
        let from = data::<T>(first + len + last, 1);
        let mut whole = data::<T>(before + len + after, 2);
        let mut host = q.register(from.clone())?;
        let mut buf = q.upload(&whole)?;
        q.write_registered(&host, first, buf.slice_mut(before..before + len)?)?;
        whole[before..before + len].copy_from_slice(&from[first..first + len]);
        Failure::unless_equal(&whole, &q.download(&buf)?)?;
        // The host writes there itself before the device does.
        host.fill(T::of(0));
        q.read_registered(buf.slice(before..before + len)?, &mut host, last)?;
        let mut expected = vec![T::of(0); first + len + last];
        expected[last..last + len].copy_from_slice(&from[first..first + len]);
        Failure::unless_equal(&expected, &host)?;
        if len > 0 {
            let past = q.write_registered(&host, first + last + 1, buf.slice_mut(before..before + len)?);
            unless_out_of_range("an element past the end", past)?;
            let past = q.read_registered(buf.slice(before..before + len)?, &mut host, usize::MAX);
            unless_out_of_range("elements past the last address", past)?;
        }
        Failure::unless_equal(&whole, &q.download(&buf)?)?;
        Failure::unless_equal(&expected, &Vec::from(host))?;
    }
    Ok(())
}

fn unless_out_of_range(what: &str, outcome: Result<(), BackendError>) -> Result<(), Failure> {
    match outcome {
        Err(BackendError::OutOfRange { .. }) => Ok(()),
        Err(other) => Err(other.into()),
        Ok(()) => Err(Failure::Broken(format!("{what}: was not refused"))),
    }
}

/// Copies into the middle of a buffer, and checks that its surroundings are unchanged.
fn copy<T: HostElement>(q: &Conditioned, len: usize) -> Result<(), Failure> {
    for &(before, after) in insets(len) {
        let from = data::<T>(after + len + before, 1);
        let mut whole = data::<T>(before + len + after, 2);
        let (source, mut target) = (q.upload(&from)?, q.upload(&whole)?);
        q.copy(source.slice(after..after + len)?, target.slice_mut(before..before + len)?)?;
        whole[before..before + len].copy_from_slice(&from[after..after + len]);
        Failure::unless_equal(&whole, &q.download(&target)?)?;
    }
    let (source, mut target) = (q.zeros::<T>(len + 1)?, q.zeros::<T>(len)?);
    Failure::unless_refused("one element more", q.copy(source.view(), target.view_mut()))
}
