//! Copies between the host and the device, which the bus limits.

use backend_api::{Buffer, Queue, Register};

use super::{DeviceLine, Extent, RunSize, words};

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    let count = match extent {
        Extent::Full => 1 << 25,
        Extent::Small => 1 << 12,
    };
    vec![upload(count), upload_registered(count), download(count), download_registered(count)]
}

/// Words that are moved once.
fn moved(count: usize) -> RunSize {
    let bytes = (count * size_of::<u64>()) as f64;
    RunSize { unit: "byte", work: bytes, bytes: 0.0, resident: bytes }
}

fn upload(count: usize) -> DeviceLine {
    DeviceLine::new(format!("copy.upload/{count}"), moved(count), move |q| {
        let (host, mut buf) = (words(count, 1), q.zeros::<u64>(count)?);
        Ok(Box::new(move |q| Ok(q.write(&host, buf.view_mut())?)))
    })
}

fn upload_registered(count: usize) -> DeviceLine {
    DeviceLine::new(format!("copy.upload.registered/{count}"), moved(count), move |q| {
        let (host, mut buf) = (q.register(words(count, 1))?, q.zeros::<u64>(count)?);
        Ok(Box::new(move |q| Ok(q.write_registered(&host, 0, buf.view_mut())?)))
    })
}

fn download(count: usize) -> DeviceLine {
    DeviceLine::new(format!("copy.download/{count}"), moved(count), move |q| {
        let buf = q.upload(&words(count, 1))?;
        Ok(Box::new(move |q| {
            core::hint::black_box(q.read(buf.view())?);
            Ok(())
        }))
    })
}

fn download_registered(count: usize) -> DeviceLine {
    DeviceLine::new(format!("copy.download.registered/{count}"), moved(count), move |q| {
        let (mut host, buf) = (q.register(vec![0u64; count])?, q.upload(&words(count, 1))?);
        Ok(Box::new(move |q| Ok(q.read_registered(buf.view(), &mut host, 0)?)))
    })
}
