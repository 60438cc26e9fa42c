//! Crate `cust` as published runs on the simulator.

use cuda_sim::driver::simulate;
use cust::{
    context::CurrentContext,
    error::CudaError,
    launch,
    memory::{CopyDestination, DeviceBuffer},
    prelude::{Context, CudaFlags, Device, Module, Stream, StreamFlags},
};

use crate::driver::bench::KERNELS;

#[test]
fn every_device_runs_a_kernel_through_cust() {
    let session = simulate("devices=4").unwrap();
    cust::init(CudaFlags::empty()).unwrap();
    assert_eq!(Device::num_devices().unwrap(), 4);
    for device in Device::devices().unwrap() {
        let device = device.unwrap();
        assert!(device.name().unwrap().starts_with("Simulated device"));
        let context = Context::new(device).unwrap();
        let module = Module::from_ptx(KERNELS, &[]).unwrap();
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
        let (x, y): (Vec<u32>, Vec<u32>) = ((0..1000).collect(), (0..1000).map(|i| 7 * i + 3).collect());
        let (x_gpu, y_gpu) = (DeviceBuffer::from_slice(&x).unwrap(), DeviceBuffer::from_slice(&y).unwrap());
        let out = DeviceBuffer::from_slice(&vec![0u32; 1000]).unwrap();
        let sum = module.get_function("sum").unwrap();
        // SAFETY: the kernel touches the first 1000 words of each buffer.
        unsafe {
            launch!(sum<<<8, 128, 0, stream>>>(
                x_gpu.as_device_ptr(), y_gpu.as_device_ptr(), out.as_device_ptr(), 1000u32
            ))
        }
        .unwrap();
        stream.synchronize().unwrap();
        let mut back = vec![0u32; 1000];
        out.copy_to(&mut back).unwrap();
        assert!(back.iter().enumerate().all(|(i, &word)| word == 8 * i as u32 + 3));
        drop((x_gpu, y_gpu, out, module, stream));
        drop(context);
    }
    let counters = session.counters();
    assert_eq!((counters.launches, counters.modules, counters.allocations, counters.frees), (4, 4, 12, 12));
    assert_eq!(session.reports(), []);
}

#[test]
fn an_over_long_launch_is_an_illegal_address_and_loses_the_context() {
    let session = simulate("").unwrap();
    cust::init(CudaFlags::empty()).unwrap();
    let context = Context::new(Device::get_device(0).unwrap()).unwrap();
    let module = Module::from_ptx(KERNELS, &[]).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let data = DeviceBuffer::from_slice(&[0u32; 100]).unwrap();
    let scale = module.get_function("scale").unwrap();
    // SAFETY: the launch runs past the buffer on purpose, which the simulator has to notice.
    unsafe { launch!(scale<<<2, 64, 0, stream>>>(data.as_device_ptr(), 2u32, 128u32)) }.unwrap();
    assert!(matches!(stream.synchronize(), Err(CudaError::IllegalAddress)));
    assert!(matches!(CurrentContext::synchronize(), Err(CudaError::IllegalAddress)));
    let reports = session.reports();
    let text = reports[0].to_string();
    assert!(text.contains("kernel `scale`") && text.contains("past the end of allocation"), "{text}");
    assert_eq!(session.counters().calls_after_sticky, ["cuCtxSynchronize"]);
    drop((data, module, stream, context));
}
