//! Buffers, views and transfers on the simulated driver.

use crate::device::support::{POOLS, SimMachine, config, on_each, open, scale};
use backend_api::{BackendError, Buffer, BufferMut, BufferRef, Fork, Queue, Record};
use cuda_backend::{Allocator, CudaConfig, CudaQueue};

/// Lengths around the granule, the pinned classes and the chunk of a transfer.
const LENGTHS: [usize; 14] =
    [0, 1, 31, 32, 33, 127, 128, 129, 1023, 1025, 16_384, (1 << 20) - 1, 1 << 20, (1 << 20) + 1];

#[test]
fn what_is_written_is_read_back_at_every_length() {
    let mut rng = fastrand::Rng::with_seed(1);
    let words: Vec<u32> = std::iter::repeat_with(|| rng.u32(..)).take((1 << 20) + 1).collect();
    on_each(&["schedule=eager", "schedule=lazy", "schedule=random;seed=7"], &POOLS, |_, queue, at| {
        for len in LENGTHS {
            let host = &words[words.len() - len..];
            let buf = queue.upload(host).unwrap();
            assert_eq!(buf.len(), len);
            assert!(queue.download(&buf).unwrap() == host, "{len} words, {at}");
            assert!(queue.download(&queue.zeros::<u32>(len).unwrap()).unwrap().iter().all(|&word| word == 0));
        }
        assert_eq!(queue.budget().live_bytes(), 0);
    });
}

#[test]
fn views_reach_their_elements_and_no_others() {
    let _machine = SimMachine::clean("schedule=lazy");
    let queue = open(Allocator::Auto).unwrap();
    let mut buf = queue.upload(&[1u32; 300]).unwrap();
    let (left, right) = buf.view_mut().split_at(100).unwrap();
    let (mut left, right) = (left.slice(10..20).unwrap(), right.slice(1..3).unwrap());
    scale(&queue, &mut left, 5).unwrap();
    queue.write(&[8u32, 9], right).unwrap();
    let mut expected = vec![1u32; 300];
    expected[10..20].fill(5);
    expected[101..103].copy_from_slice(&[8, 9]);
    assert_eq!(queue.download(&buf).unwrap(), expected);
    assert_eq!(queue.read(buf.view().slice(9..21).unwrap()).unwrap(), expected[9..21]);
    assert_eq!(buf.view().slice(299..301).unwrap_err(), BackendError::OutOfRange { start: 299, end: 301, len: 300 });
    assert_eq!(
        queue.write(&[1u32], buf.view_mut()),
        Err(BackendError::Length { op: "write", view: "host", expected: 300, got: 1 })
    );
    assert_eq!(queue.download(&buf).unwrap(), expected);
}

/// Twenty MiB are five pieces.
#[test]
fn two_copies_to_the_host_are_in_flight_at_once() {
    on_each(&["schedule=eager", "schedule=lazy"], &[Allocator::Auto], |_, queue, at| {
        let zeros = queue.zeros::<u32>(5 << 20).unwrap();
        assert!(queue.download(&zeros).unwrap().iter().all(|&word| word == 0), "{at}");
        let pinned = queue.device().memory().unwrap().pinned;
        assert_eq!((pinned.misses, pinned.hits, pinned.peak_bytes), (2, 3, 8 << 20), "{at}");
    });
}

#[test]
fn elements_of_every_size_pass_whole() {
    let _machine = SimMachine::new("schedule=random");
    let queue = open(Allocator::Auto).unwrap();
    let bytes: Vec<u8> = (0..=255).cycle().take(5_000_001).collect();
    assert!(queue.download(&queue.upload(&bytes).unwrap()).unwrap() == bytes);
    let wide: Vec<u128> = (0..300_000u128).map(|i| i << 100 | i).collect();
    assert!(queue.download(&queue.upload(&wide).unwrap()).unwrap() == wide);
    let odd: Vec<[u8; 3]> = (0..2_000_000u32).map(|i| [i as u8, (i >> 8) as u8, (i >> 16) as u8]).collect();
    assert!(queue.download(&queue.upload(&odd).unwrap()).unwrap() == odd);
    let empty = [(); 17];
    assert_eq!(queue.download(&queue.upload(&empty).unwrap()).unwrap(), empty);
}

#[test]
fn a_bit_pattern_that_is_no_value_is_refused_with_its_index() {
    let _machine = SimMachine::new("");
    let queue = open(Allocator::Auto).unwrap();
    let mut flags = queue.upload(&[true; 8]).unwrap();
    let launch = queue.kernel("test_spoil").unwrap().output("flags", &flags.view_mut());
    let launch = launch.value("count", &2u64).value("factor", &3u32);
    // SAFETY: the kernel touches two words, and the view has eight bytes.
    unsafe { launch.launch() }.unwrap();
    assert_eq!(queue.download(&flags), Err(BackendError::Corrupt { index: 0, type_name: "bool" }));
    assert_eq!(queue.read(flags.view().slice(8..8).unwrap()), Ok(vec![]));
}

#[test]
fn lengths_beyond_the_address_space_are_typed() {
    let _machine = SimMachine::new("");
    let queue = open(Allocator::Auto).unwrap();
    assert!(matches!(queue.zeros::<u64>(usize::MAX), Err(BackendError::LengthOverflow { .. })));
    assert!(matches!(queue.zeros::<u64>(usize::MAX / 4), Err(BackendError::LengthOverflow { .. })));
    assert!(matches!(queue.zeros::<u8>(1 << 40), Err(BackendError::BudgetExceeded { .. })));
    // A length in bytes is at most half of the addresses, and memory comes in pieces of 512 bytes.
    const MOST: usize = isize::MAX as usize;
    assert!(
        matches!(queue.alloc::<u8>(MOST), Err(BackendError::BudgetExceeded { need_bytes, .. }) if need_bytes == 1 << 63)
    );
    assert!(matches!(queue.alloc::<u8>(MOST + 1), Err(BackendError::LengthOverflow { .. })));
    let lens = [(1, 1), (128, 4), (129, 4), (MOST, 1), (MOST + 1, 1)];
    let bytes = lens.map(|(len, element_bytes)| queue.buffer_bytes(len, element_bytes));
    assert_eq!(bytes, [512, 512, 1024, 1 << 63, u64::MAX]);
}

#[test]
fn buffers_of_another_device_are_refused() {
    let _machine = SimMachine::new("devices=2");
    let first = open(Allocator::Auto).unwrap();
    let second = CudaQueue::open(CudaConfig { device: 1, ..config(Allocator::Auto) }).unwrap();
    let mut buf = first.upload(&[1u32; 4]).unwrap();
    let mut other = second.zeros::<u32>(4).unwrap();
    assert_eq!(second.download(&buf), Err(BackendError::MixedBackend { op: "read" }));
    assert_eq!(second.write(&[0; 4], buf.view_mut()), Err(BackendError::MixedBackend { op: "write" }));
    let mixed = |op| Err(BackendError::MixedBackend { op });
    assert_eq!(second.copy(buf.view(), other.view_mut()), mixed("copy"));
    assert_eq!(second.copy(other.view(), buf.view_mut()), mixed("copy"));
    assert_eq!(second.clear(buf.view_mut()), mixed("clear"));
    assert_eq!(second.join(&first), mixed("join"));
    let graph = first.record(|first| scale(first, &mut buf.view_mut(), 2)).unwrap().unwrap();
    assert_eq!(second.replay(&graph), mixed("replay"));
    assert_eq!(scale(&second, &mut buf.view_mut(), 1), Err(BackendError::MixedBackend { op: "launch" }));
    scale(&first, &mut buf.view_mut(), 3).unwrap();
    scale(&second, &mut other.view_mut(), 3).unwrap();
    assert_eq!(first.download(&buf).unwrap(), [3; 4]);
    assert_eq!(second.download(&other).unwrap(), [0; 4]);
}
