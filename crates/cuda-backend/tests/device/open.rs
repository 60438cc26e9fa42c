//! Why a device is not opened.

use crate::device::support::{POOLS, SimMachine, config, expected, open, program};
use backend_api::{BackendKind, Queue};
use cuda_backend::{Allocator, CudaConfig, CudaQueue, MIN_BUDGET_BYTES, OpenError};

#[test]
fn a_device_that_exists_is_opened_and_described() {
    let _machine = SimMachine::clean("devices=2;cc=9.0;mem=32M");
    let devices = cuda_backend::devices().unwrap();
    assert_eq!(devices.len(), 2);
    assert_eq!((devices[1].ordinal, devices[1].capability, devices[1].total_bytes), (1, (9, 0), 32 << 20));
    let queue = CudaQueue::open(CudaConfig { device: 1, budget_bytes: None, ..config(Allocator::Auto) }).unwrap();
    assert_eq!(queue.caps().kind, BackendKind::Cuda);
    assert_eq!(queue.caps().path, "sm_80 PTX 7.0 on 9.0");
    let limit = queue.budget().limit_bytes();
    let free = queue.device().memory().unwrap().free_bytes;
    assert!(limit == free / 10 * 9 && limit > 16 << 20, "{limit} of {free}");
    assert_eq!(queue.device().info(), &devices[1]);
}

#[test]
fn devices_that_do_not_exist_or_are_too_old_are_refused() {
    let none = SimMachine::new("devices=0");
    assert_eq!(open(Allocator::Auto).unwrap_err(), OpenError::NoDevice);
    assert_eq!(cuda_backend::devices().unwrap_err(), OpenError::NoDevice);
    drop(none);
    let two = SimMachine::new("devices=2");
    let beyond = CudaConfig { device: 2, ..config(Allocator::Auto) };
    assert_eq!(CudaQueue::open(beyond).unwrap_err(), OpenError::NoSuchDevice { index: 2, count: 2 });
    drop(two);
    let _old = SimMachine::new("cc=7.5");
    assert!(matches!(open(Allocator::Auto), Err(OpenError::Capability { index: 0, found: (7, 5), .. })));
    assert!(!cuda_backend::devices().unwrap()[0].is_usable());
}

#[test]
fn a_budget_below_one_tile_is_refused() {
    let _machine = SimMachine::new("");
    for limit_bytes in [0, 1, MIN_BUDGET_BYTES - 1] {
        let cramped = CudaConfig { budget_bytes: Some(limit_bytes), ..config(Allocator::Auto) };
        let refused = OpenError::Budget { limit_bytes, need_bytes: MIN_BUDGET_BYTES };
        assert_eq!(CudaQueue::open(cramped).unwrap_err(), refused);
    }
    let least = CudaConfig { budget_bytes: Some(MIN_BUDGET_BYTES), ..config(Allocator::Auto) };
    assert!(CudaQueue::open(least).is_ok());
}

#[test]
fn the_whole_program_computes_on_every_schedule_and_pool() {
    for spec in ["", "schedule=lazy", "schedule=random;seed=9", "checks=sanitize", "order=reverse"] {
        for allocator in POOLS {
            let _machine = SimMachine::clean(spec);
            assert_eq!(program(allocator).unwrap(), expected(), "{spec}");
        }
    }
}
