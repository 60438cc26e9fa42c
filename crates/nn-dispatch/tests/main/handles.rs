//! Handles: versions, device copies, and memory.

use std::thread;

use backend_api::Queue;
use nn_dispatch::{AdamState, BackendDispatcher, DispatchError, Handle, MatmulGradients, Product, Saved, TensorOpsAPI};
use nn_ops::NnError;
use runtime::Choice;

use crate::common::{each, on, values};

const PRODUCT: Product = Product::new(3, 4, 5);

/// Bytes of all buffers of the device.
fn live(d: &BackendDispatcher) -> u64 {
    d.queue().finish().unwrap();
    d.queue().budget().live_bytes()
}

#[test]
fn handles_give_the_bits_of_slices_in_every_version() {
    each(|d| {
        let x = values(1, 12);
        let mut weights = d.upload(&values(2, 20));
        for version in 0..3 {
            assert_eq!(weights.version(), version);
            let [mut by_handle, mut by_slice] = [[f32::NAN; 15]; 2];
            d.matmul((&x).into(), (&weights).into(), PRODUCT, &mut by_handle).unwrap();
            d.matmul((&x).into(), weights.values().into(), PRODUCT, &mut by_slice).unwrap();
            assert_eq!(by_handle, by_slice);
            d.update(&mut weights, &values(3 + version, 20)).unwrap();
            assert_eq!(weights.values(), values(3 + version, 20));
        }
        let refused = d.update(&mut weights, &[0.0; 19]).unwrap_err();
        let expected = NnError::Length { op: "update", tensor: "values", expected: 20, got: 19 };
        assert_eq!((refused, weights.version()), (DispatchError::Op(expected), 3));
    });
}

#[test]
fn a_device_copies_each_version_once_and_frees_it_with_the_handle() {
    let d = on(Choice::Sim);
    let empty = live(&d);
    let x = values(1, 12);
    let mut c = [0.0; 15];
    let mut weights = d.upload(&values(2, 20));
    assert_eq!((d.counters().copies, live(&d)), (0, empty));
    let mut held = None;
    for version in 1..4 {
        for _ in 0..3 {
            d.matmul((&x).into(), (&weights).into(), PRODUCT, &mut c).unwrap();
            assert_eq!(d.counters().copies, version);
        }
        // A new version takes the place of the one before.
        let live = live(&d);
        assert_eq!((live > empty, *held.get_or_insert(live)), (true, live));
        d.update(&mut weights, &values(2 + version, 20)).unwrap();
    }
    drop(weights);
    assert_eq!(live(&d), empty);
}

#[test]
fn the_processor_copies_nothing() {
    let d = on(Choice::Cpu);
    let before = live(&d);
    let (x, weights) = (values(1, 12), d.upload(&values(2, 20)));
    let mut c = [0.0; 15];
    let saved = d.matmul((&x).into(), (&weights).into(), PRODUCT, &mut c).unwrap();
    assert_eq!((d.counters().copies, live(&d)), (0, before));
    drop(saved);
}

#[test]
fn a_copy_on_one_device_is_none_on_another() {
    let [first, second] = [on(Choice::Sim), on(Choice::Sim)];
    let (x, weights) = (values(1, 12), first.upload(&values(2, 20)));
    let mut results = [[f32::NAN; 15]; 3];
    for (d, c) in [&first, &second, &first].into_iter().zip(&mut results) {
        d.matmul((&x).into(), (&weights).into(), PRODUCT, c).unwrap();
    }
    assert_eq!((first.counters().copies, second.counters().copies), (2, 1));
    assert!(results[0] == results[1] && results[1] == results[2]);
}

#[test]
fn a_saved_result_on_a_device_keeps_the_version_of_its_forward_pass() {
    let d = on(Choice::Sim);
    let (x, g) = (values(1, 12), values(9, 15));
    let mut weights = d.upload(&values(2, 20));
    let saved = d.matmul((&x).into(), (&weights).into(), PRODUCT, &mut [0.0; 15]).unwrap();
    let gradient = |weights: &Handle| {
        let mut da = [f32::NAN; 12];
        let gradients = MatmulGradients { a: Some(&mut da), b: None };
        d.matmul_backward(&saved, (&x).into(), weights.into(), (&g).into(), gradients).unwrap();
        da
    };
    let before = gradient(&weights);
    d.update(&mut weights, &values(3, 20)).unwrap();
    d.matmul((&x).into(), (&weights).into(), PRODUCT, &mut [0.0; 15]).unwrap();
    assert_eq!(gradient(&weights), before);
}

#[test]
fn threads_share_a_dispatcher_and_its_handles() {
    fn shared<T: Send + Sync>() {}
    shared::<BackendDispatcher>();
    shared::<Handle>();
    shared::<Saved>();
    shared::<AdamState>();
    each(|d| {
        let (x, weights) = (values(1, 12), d.upload(&values(2, 20)));
        let mut expected = [f32::NAN; 15];
        d.matmul((&x).into(), (&weights).into(), PRODUCT, &mut expected).unwrap();
        let run = || {
            for _ in 0..20 {
                let mut c = [f32::NAN; 15];
                d.matmul((&x).into(), (&weights).into(), PRODUCT, &mut c).unwrap();
                assert_eq!(c, expected);
            }
        };
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(run);
            }
        });
        assert_eq!(d.counters().dispatches, 61);
    });
}
