//! Buffers and marks of a queue, and the choice of its vector paths.

use backend_api::{BackendError, Budget, Buffer, Queue, Timed};
use cpu_backend::{CpuConfig, CpuQueue, Simd, SimdLevel};

fn queue(limit: u64) -> CpuQueue {
    CpuQueue::open(CpuConfig { budget: Budget::new(limit), ..CpuConfig::default() }).unwrap()
}

#[test]
fn buffers_start_on_a_cache_line_and_read_back_what_was_written() {
    let q = queue(1 << 20);
    for len in [0, 1, 15, 16, 17, 1000] {
        let host: Vec<u32> = (0..len as u32).collect();
        let buf = q.upload(&host).unwrap();
        assert_eq!(buf.view().as_ptr() as usize % 64, 0);
        assert_eq!(q.download(&buf).unwrap(), host);
    }
    assert_eq!(q.budget().live_bytes(), 0);
}

#[test]
fn the_budget_is_enforced_before_memory_is_taken() {
    let q = queue(4096);
    let held = q.zeros::<u64>(256).unwrap();
    assert!(matches!(q.zeros::<u64>(512), Err(BackendError::BudgetExceeded { limit_bytes: 4096, .. })));
    drop(held);
    assert!(q.zeros::<u64>(256).is_ok());
}

#[test]
fn lengths_beyond_the_address_space_are_typed() {
    let q = queue(u64::MAX);
    assert!(matches!(q.zeros::<u64>(usize::MAX), Err(BackendError::LengthOverflow { .. })));
    assert!(matches!(q.zeros::<u64>(usize::MAX / 4), Err(BackendError::LengthOverflow { .. })));
    // A buffer has 64 bytes more, for its alignment.
    let most = isize::MAX as usize - 64;
    assert!(matches!(q.zeros::<u8>(most), Err(BackendError::OutOfMemory { .. })));
    assert!(matches!(q.zeros::<u8>(most + 1), Err(BackendError::LengthOverflow { .. })));
}

#[test]
fn writes_of_another_length_change_nothing() {
    let q = queue(1 << 20);
    let mut buf = q.upload(&[1u8, 2, 3]).unwrap();
    assert_eq!(
        q.write(&[9u8], buf.view_mut()),
        Err(BackendError::Length { op: "write", view: "host", expected: 3, got: 1 })
    );
    assert_eq!(q.download(&buf).unwrap(), [1, 2, 3]);
}

#[test]
fn marks_are_in_the_order_of_their_making() {
    let [q, other] = [0; 2].map(|_| CpuQueue::open(CpuConfig::default()).unwrap());
    let marks = [&q, &other, &q].map(|q| q.mark().unwrap());
    assert!(marks.is_sorted());
    let [first, second] = [0, 1].map(|i| q.elapsed_ns(&marks[i], &marks[i + 1]).unwrap());
    assert!(first >= 0 && second >= 0);
    assert_eq!(other.elapsed_ns(&marks[0], &marks[2]).unwrap(), first + second);
    assert_eq!(other.elapsed_ns(&marks[2], &marks[0]).unwrap(), -first - second);
}

#[test]
fn names_parse_back() {
    for level in SimdLevel::ALL {
        assert_eq!(level.name().parse(), Ok(level));
    }
    assert_eq!("AVX2".parse::<SimdLevel>(), Err(()));
}

#[test]
fn detection_never_exceeds_its_cap() {
    for cap in SimdLevel::ALL {
        let simd = Simd::detect_up_to(cap);
        assert!(simd.level() <= cap && simd.level().is_available());
        assert!(simd.aes().is_available(simd.level()));
    }
}
