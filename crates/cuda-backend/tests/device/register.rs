//! Memory of the host that the device copies from and to without a detour.

use crate::device::support::{SimMachine, config, kernels, on_each, open, scale, stray};
use backend_api::{BackendError, Buffer, Fork, Queue, Record, Register};
use cuda_backend::{Allocator, CudaConfig, CudaQueue};

#[test]
fn copies_of_registered_memory_pin_nothing_else_and_end_with_their_call() {
    on_each(&["schedule=eager", "schedule=lazy", "schedule=random;seed=3"], &[Allocator::Auto], |_, queue, at| {
        let words: Vec<u32> = (0..70_000).collect();
        let mut host = queue.register(words.clone()).unwrap();
        let mut buf = queue.zeros::<u32>(50_000).unwrap();
        queue.write_registered(&host, 10_000, buf.view_mut()).unwrap();
        host.fill(0); // the copy is done
        scale(&queue, &mut buf.view_mut(), 3).unwrap();
        queue.fork().unwrap().read_registered(buf.view(), &mut host, 20_000).unwrap();
        assert_eq!(host[..20_000], vec![0; 20_000]);
        assert!(host[20_000..].iter().zip(&words[10_000..]).all(|(got, word)| *got == 3 * word));
        let pinned = queue.device().memory().unwrap().pinned;
        assert_eq!((pinned.hits, pinned.misses), (0, 0), "{at}");
        assert_eq!(Vec::from(host).len(), words.len());
    });
}

#[test]
fn ranges_devices_and_recordings_that_will_not_do_are_refused() {
    let _machine = SimMachine::clean("devices=2");
    let queue = open(Allocator::Auto).unwrap();
    let other = CudaQueue::open(CudaConfig { device: 1, ..config(Allocator::Auto) }).unwrap();
    let (mut host, foreign) = (queue.register(vec![1u8; 10]).unwrap(), other.register(vec![2u8; 10]).unwrap());
    let mut buf = queue.zeros::<u8>(8).unwrap();
    let past = |start: usize, end| BackendError::OutOfRange { start, end, len: 10 };
    assert_eq!(queue.write_registered(&host, 3, buf.view_mut()), Err(past(3, 11)));
    assert_eq!(queue.read_registered(buf.view(), &mut host, usize::MAX), Err(past(usize::MAX, usize::MAX)));
    let mixed = BackendError::MixedBackend { op: "write_registered" };
    assert_eq!(queue.write_registered(&foreign, 0, buf.view_mut()), Err(mixed.clone()));
    assert_eq!(other.write_registered(&foreign, 0, buf.view_mut()), Err(mixed));
    let (mut theirs, mixed) = (other.zeros::<u8>(8).unwrap(), |op| Err(BackendError::MixedBackend { op }));
    assert_eq!(queue.write_registered(&host, 0, theirs.view_mut()), mixed("write_registered"));
    assert_eq!(queue.read_registered(theirs.view(), &mut host, 0), mixed("read_registered"));
    assert_eq!(other.read_registered(theirs.view(), &mut host, 0), mixed("read_registered"));
    let mut refused = Ok(());
    let graph = queue.record::<BackendError>(|queue| {
        refused = queue.write_registered(&host, 0, buf.view_mut());
        Ok(())
    });
    assert!(graph.unwrap().is_none());
    assert!(matches!(refused, Err(BackendError::Unsupported { op: "write_registered", .. })));
    let empty = queue.register(Vec::<u64>::new()).unwrap();
    let mut nothing = queue.zeros::<u64>(0).unwrap();
    queue.write_registered(&empty, 0, nothing.view_mut()).unwrap();
    assert_eq!(queue.download(&buf).unwrap(), [0; 8]);
    assert_eq!(*host, [1; 10]);
}

#[test]
fn what_is_no_value_is_named_and_not_handed_out() {
    let _machine = SimMachine::clean("");
    let queue = open(Allocator::Auto).unwrap();
    let mut flags = queue.upload(&[true; 8]).unwrap();
    let launch = queue.kernel("test_spoil").unwrap().output("flags", &flags.view_mut());
    let launch = launch.value("count", &1u64).value("factor", &3u32);
    // SAFETY: the kernel touches one word, and the view has eight bytes.
    unsafe { launch.launch() }.unwrap();
    let mut host = queue.register(vec![true; 10]).unwrap();
    let arrived = queue.read_registered(flags.slice(2..8).unwrap(), &mut host, 3);
    assert_eq!(arrived, Err(BackendError::Corrupt { index: 0, type_name: "bool" }));
    assert_eq!(*host, [true, true, true, false, false, false, false, false, false, true]);
    queue.read_registered(flags.slice(4..8).unwrap(), &mut host, 3).unwrap();
}

#[test]
fn memory_that_a_lost_device_may_still_use_is_not_given_back() {
    let _machine = SimMachine::new("schedule=lazy");
    let queue = open(Allocator::Auto).unwrap();
    let buf = queue.upload(&[7u32; 100]).unwrap();
    let mut host = queue.register(vec![5u32; 100]).unwrap();
    let before = host.as_ptr();
    stray(&queue).unwrap();
    let lost = queue.read_registered(buf.view(), &mut host, 0).unwrap_err();
    assert!(matches!(lost, BackendError::DeviceLost { .. }), "{lost}");
    assert_eq!(*host, [0; 100]);
    assert_ne!(host.as_ptr(), before);
    assert_eq!(queue.read_registered(buf.view(), &mut host, 0), Err(lost));
}

#[test]
fn memory_that_the_driver_does_not_pin_is_refused_as_memory() {
    for (code, is_memory) in [(2, true), (801, false)] {
        let _machine = SimMachine::new(&format!("fail={code}@cuMemHostRegister_v2:1"));
        let queue = CudaQueue::open(CudaConfig { kernels: kernels(), ..CudaConfig::default() }).unwrap();
        let refused = queue.register(vec![0u64; 512]).unwrap_err();
        assert_eq!(refused == BackendError::OutOfMemory { bytes: 4096 }, is_memory, "{refused}");
        assert!(queue.register(vec![0u64; 512]).is_ok());
    }
}
