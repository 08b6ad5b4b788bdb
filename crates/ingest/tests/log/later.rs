//! Messages of launchers, schedulers, containers and libraries as they come today, and conclusions that must not be drawn from
//! what is cut.

use lowtide_ingest::log::Family::{self, Cuda, Fork, Hip, Kernel, Kubernetes, MemoryError, Npu, Slurm, Systemd, TensorFlow};

use crate::{GIB, KIB, MIB, has, log, one};

const E: &str = "CUDA out of memory. Tried to allocate 226.00 MiB. GPU 0 has a total capacity of 15.70 GiB of which 210.38 MiB is free. Including non-PyTorch memory, this process has 15.48 GiB memory in use. Of the allocated memory 14.81 GiB is allocated by PyTorch, and 336.73 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)";
const KILL: &str = "Memory cgroup out of memory: Killed process 63214 (python3) total-vm:3149468kB, anon-rss:164992kB, file-rss:52176kB, shmem-rss:92kB, UID:0 pgtables:1372kB oom_score_adj:986";

fn of_e() -> Vec<(&'static str, f64)> {
    vec![
        ("tried_to_allocate", 226.0 * MIB),
        ("gpu", 0.0),
        ("total_capacity", 15.7 * GIB),
        ("free", 210.38 * MIB),
        ("process_in_use", 15.48 * GIB),
        ("allocated", 14.81 * GIB),
        ("reserved_unallocated", 336.73 * MIB),
    ]
}

fn of_kill() -> Vec<(&'static str, f64)> {
    vec![
        ("pid", 63_214.0),
        ("total_vm", 3_149_468.0 * KIB),
        ("anon_rss", 164_992.0 * KIB),
        ("file_rss", 52_176.0 * KIB),
        ("shmem_rss", 92.0 * KIB),
        ("uid", 0.0),
        ("pgtables", 1372.0 * KIB),
        ("oom_score_adj", 986.0),
    ]
}

fn why(text: &str) -> String {
    let findings = log(text).findings();
    assert_eq!(findings.len(), 1, "{text}\n{findings:#?}");
    findings[0].why.clone().unwrap_or_default()
}

#[test]
fn launchers_and_loggers() {
    let quoted = E.replace('"', "\\\"");
    for (what, text, rank) in [
        (
            "torchrun",
            format!(
                "W1129 10:00:00.123000 139 torch/distributed/run.py:793] \n[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/w/train.py\", line 88, in <module>\n[rank0]:     loss.backward()\n[rank0]: torch.OutOfMemoryError: {E}\n"
            ),
            Some(0),
        ),
        ("torchrun --tee", format!("[default5]:[rank5]: torch.OutOfMemoryError: {E}"), Some(5)),
        ("DeepSpeed over pdsh", format!("worker-1: [rank11]: torch.OutOfMemoryError: {E}"), Some(11)),
        ("srun -l", format!("3: torch.OutOfMemoryError: {E}\n0: srun: waiting\n"), Some(3)),
        ("Ray, coloured", format!("\u{1b}[36m(TrainWorker pid=4711)\u{1b}[0m torch.OutOfMemoryError: {E}"), None),
        (
            "Ray, told once of many",
            format!(
                "(RayTrainWorker pid=4711, ip=10.0.0.3) torch.OutOfMemoryError: {E} [repeated 7x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication)"
            ),
            None,
        ),
        ("loguru", format!("2026-01-01 10:00:00.123 | ERROR    | __main__:train:88 - {E}"), None),
        (
            "structlog",
            format!(
                "2026-01-01T10:00:00.123456Z [error    ] step failed                    [train] error='{E}' step=1234 epoch=3"
            ),
            None,
        ),
        ("logfmt", format!("timestamp=2026-01-01T10:00:00Z level=error event=oom exception=\"{E}\""), None),
        (
            "logging with a traceback",
            format!(
                "2026-01-01 10:00:00,123 ERROR train Uncaught\nTraceback (most recent call last):\n  File \"/w/train.py\", line 88, in step\n    out = self.model(x)\n          ^^^^^^^^^^^^^\ntorch.OutOfMemoryError: {E}"
            ),
            None,
        ),
        (
            "JSON with escaped line ends",
            format!(
                "{{\"ts\": \"2026-01-01T10:00:00Z\", \"exc\": \"Traceback (most recent call last):\\n  File \\\"a.py\\\", line 1\\ntorch.OutOfMemoryError: {quoted}\\n\"}}"
            ),
            None,
        ),
        ("Windows' line ends", format!("torch.OutOfMemoryError: {E}\r\n"), None),
        ("compose", format!("trainer-1  | torch.OutOfMemoryError: {E}\ntrainer-1 exited with code 1\n"), None),
        ("Markdown", format!("```\n**torch.OutOfMemoryError:** {E}\n```"), None),
        ("HTML", format!("<pre>torch.OutOfMemoryError: {E}</pre>"), None),
        ("a decimal comma", E.replace("226.00", "226,00").replace("15.70", "15,70"), None),
    ] {
        has(&text, Cuda, &of_e());
        let finding = log(&text).findings().remove(0);
        assert_eq!(finding.process.and_then(|process| process.rank), rank, "{what}");
    }
}

#[test]
fn the_journal_in_its_formats() {
    for line in [
        format!("Nov 29 03:00:01.123456 gpu-12 kernel: {KILL}"),
        format!("2024-04-29T14:55:41+0200 gpu-12 kernel: {KILL}"),
        format!("{{\"_HOSTNAME\":\"gpu-12\",\"PRIORITY\":\"3\",\"MESSAGE\":\"{KILL}\",\"_TRANSPORT\":\"kernel\"}}"),
    ] {
        has(&line, Kernel, &of_kill());
    }
    // Its table, too.
    let rows = [
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=986",
        "memory: usage 1048576kB, limit 1048576kB, failcnt 17",
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
        "[  63214]     0 63214   787367    54315    77824      240           986 python3",
        "[  63215]     0 63215   787367   154315    77824      240           986 pt_data_worker",
        KILL,
    ];
    let precise = |row: &&str| format!("Nov 29 03:00:01.123456 gpu-12 kernel: {row}\n");
    let iso = |row: &&str| format!("2024-04-29T14:55:41+0200 gpu-12 kernel: {row}\n");
    let json = |row: &&str| format!("{{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"{row}\"}}\n");
    for text in [rows.iter().map(precise).collect::<String>(), rows.iter().map(iso).collect(), rows.iter().map(json).collect()] {
        let numbers = one(&text).numbers();
        assert_eq!((numbers["tasks"], numbers["tasks_rss"], numbers["memory_limit"]), (2.0, 208_630.0 * 4096.0, GIB), "{text}");
        assert!(why(&text).contains("another process held most: pt_data_worker (pid 63215)"), "{text}");
    }
    let unit =
        "Nov 29 03:00:01.123456 gpu-12 systemd[1]: train.service: A process of this unit has been killed by the OOM killer.";
    has(unit, Systemd, &[]);
    assert!(why(unit).contains("MemoryMax="), "{}", why(unit));
}

#[test]
fn containers_by_name() {
    let init = "Init Containers:\n  prepare:\n    Container ID:  containerd://abc\n    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Limits:\n      memory:  512Mi\nContainers:\n  main:\n    Container ID:\n    State:          Waiting\n      Reason:       PodInitializing\n    Limits:\n      memory:  64Gi\n";
    has(init, Kubernetes, &[("exit_code", 137.0), ("limit", 512.0 * MIB)]);
    assert_eq!(one(init).main().words["victim"], "prepare");
    let second = "Containers:\n  main:\n    Container ID:  containerd://abc\n    State:          Running\n    Limits:\n      memory:  64Gi\n  sidecar:\n    Container ID:  containerd://def\n    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Limits:\n      cpu:     1\n      memory:  256Mi\n    Requests:\n      memory:  128Mi\n";
    has(second, Kubernetes, &[("exit_code", 137.0), ("limit", 256.0 * MIB)]);
    assert_eq!(one(second).main().words["victim"], "sidecar");
    let ephemeral = "Ephemeral Containers:\n  debugger:\n    Container ID:   containerd://xyz\n    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n";
    has(ephemeral, Kubernetes, &[("exit_code", 137.0)]);
    assert_eq!(one(ephemeral).main().words["victim"], "debugger");
    has("trainer-1 exited with code 137\n", Family::ExitCode, &[("exit_code", 137.0)]);
}

#[test]
fn schedulers() {
    let sacct = "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n------------ ---------- ---------- ---------- ---------- ---------- -------- \n191               train        gpu       root          8 OUT_OF_ME+    0:125 \n";
    has(sacct, Slurm, &[("exit_code", 0.0), ("signal", 125.0)]);
    let seff = "Job ID: 191\nState: OUT_OF_MEMORY (exit code 0)\nCores: 1\nMemory Utilized: 15.99 GB\nMemory Efficiency: 99.94% of 16.00 GB\n";
    has(seff, Slurm, &[("used", 15.99 * GIB), ("limit", 16.0 * GIB)]);
}

#[test]
fn cards_and_their_libraries() {
    has(
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.32 GiB. GPU 1 has a total capacity of 191.98 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has 190.50 GiB memory in use. Of the allocated memory 180.00 GiB is allocated by PyTorch, with 12.00 GiB allocated in private pools (e.g., HIP Graphs), and 8.10 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        Hip,
        &[
            ("tried_to_allocate", 2.32 * GIB),
            ("gpu", 1.0),
            ("total_capacity", 191.98 * GIB),
            ("free", 1.02 * GIB),
            ("process_in_use", 190.5 * GIB),
            ("allocated", 180.0 * GIB),
            ("private_pools", 12.0 * GIB),
            ("reserved_unallocated", 8.1 * GIB),
        ],
    );
    let npu = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 3; 60.97 GiB total capacity; 57.51 GiB already allocated; 57.51 GiB current active; 1.02 GiB free; 58.70 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.";
    has(
        npu,
        Npu,
        &[
            ("tried_to_allocate", 2.0 * GIB),
            ("gpu", 3.0),
            ("total_capacity", 60.97 * GIB),
            ("allocated", 57.51 * GIB),
            ("free", 1.02 * GIB),
            ("reserved", 58.7 * GIB),
        ],
    );
    assert!(log(npu).findings()[0].text.starts_with("NPU ran out of memory on gpu3"));
    for text in [
        "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "torch.AcceleratorError: CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda/",
        "ins-7df6:3018451:3018451 [0] enqueue.cc:1085 NCCL WARN Cuda failure 'out of memory'\n[rank0]: ncclUnhandledCudaError: Call to CUDA function failed.\n[rank0]: Last error:\n[rank0]: Cuda failure 2 'out of memory'\n",
        "RuntimeError: Triton Error [CUDA]: out of memory",
        "Error out of memory at line 380 in file /src/csrc/pythonInterface.c",
    ] {
        has(text, Cuda, &[]);
    }
    has(
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes (allocated so far: 12,000,000,000 bytes, limit set to: 16,000,000,000 bytes).",
        Cuda,
        &[("tried_to_allocate", 8e9), ("allocated", 1.2e10), ("allowed", 1.6e10)],
    );
    assert!(log("NCCL WARN Cuda failure 'invalid argument'").incidents.is_empty());
}

#[test]
fn jax_and_tensorflow() {
    has(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 27.93GiB.",
        TensorFlow,
        &[("tried_to_allocate", 27.93 * GIB)],
    );
    has(
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 111289565184 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n             parameter allocation:  384.71MiB\n     preallocated temp allocation:   103.65GiB\n                 total allocation:   104.02GiB\nPeak buffers:\n\tBuffer 1:\n\t\tSize: 6.00GiB\n\t\tShape: f32[4096,128,3]\n",
        TensorFlow,
        &[("tried_to_allocate", 111_289_565_184.0)],
    );
    has(
        "RESOURCE_EXHAUSTED: Attempting to allocate 2.50G. That was not possible. There are 1.20G free.; (0x0x0_HBM0)",
        TensorFlow,
        &[("tried_to_allocate", 2.5 * GIB), ("free", 1.2 * GIB)],
    );
    has(
        "2022-10-25 21:52:08.219469: W external/org_tensorflow/tensorflow/tsl/framework/bfc_allocator.cc:479] Allocator (GPU_1_bfc) ran out of memory trying to allocate 27.93GiB (rounded to 29995136256)requested by op \n2022-10-25 21:52:08.220328: I tensorflow/tsl/framework/bfc_allocator.cc:1101] Sum Total of in-use chunks: 13.02GiB\n",
        TensorFlow,
        &[("tried_to_allocate", 27.93 * GIB), ("rounded_to", 29_995_136_256.0), ("gpu", 1.0)],
    );
}

#[test]
fn vllm() {
    has(
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
        Cuda,
        &[],
    );
    let free = "(EngineCore_DP0 pid=321) ValueError: Free memory on device (12.34/79.19 GiB) on startup is less than desired GPU memory utilization (0.9, 71.27 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.";
    has(
        free,
        Cuda,
        &[
            ("free", 12.34 * GIB),
            ("total_capacity", 79.19 * GIB),
            ("tried_to_allocate", 71.27 * GIB),
            ("gpu_memory_utilization", 0.9),
        ],
    );
    assert!(log(free).findings()[0].text.contains("it was to take 71.27 GiB, and 12.34 GiB of 79.19 GiB were free"));
    has(
        "ValueError: To serve at least one request with the models's max seq len (40960), (5.62 GiB KV cache is needed, which is larger than the available KV cache memory (2.33 GiB). Based on the available memory, the estimated maximum model length is 16976.",
        Cuda,
        &[("tried_to_allocate", 5.62 * GIB), ("cache_available", 2.33 * GIB)],
    );
}

#[test]
fn memory_of_the_host() {
    has("pyarrow.lib.ArrowMemoryError: malloc of size 8589934592 failed", MemoryError, &[("tried_to_allocate", 8_589_934_592.0)]);
    has(
        "OSError: [WinError 1455] The paging file is too small for this operation to complete. Error loading \"C:\\torch\\lib\\cudnn.dll\"",
        Fork,
        &[("winerror", 1455.0)],
    );
    // A full disk or /dev/shm: said, and not counted.
    let told = log("step 1\nOSError: [Errno 28] No space left on device\n");
    assert!(told.incidents.is_empty() && told.said[0].starts_with("line 2:"), "{:?}", told.said);
    let told = log("RuntimeError: DataLoader worker (pid(s) 3216, 3217, 3218) exited unexpectedly\n");
    assert!(told.incidents.is_empty() && told.said[0].starts_with("line 1:"), "{:?}", told.said);
}

/// Without what PyTorch held nobody is accused: the rest of the card may be its own.
#[test]
fn what_is_cut_accuses_nobody() {
    for end in ["210.38 MiB is free.", "15.48 GiB memory in use.", "14.81 GiB is allocated by PyTorch,"] {
        let cut = &E[..E.find(end).unwrap() + end.len()];
        let why = why(cut);
        for wrong in ["another process", "outside PyTorch", "ruled out:", "fragmentation:"] {
            assert!(!why.contains(wrong), "{wrong}: {why}\n{cut}");
        }
    }
    let listed = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 1.15 GiB is free. Process 12345 has 70.00 GiB memory in use. Process 2222 has 8.08 GiB memory in use.";
    assert!(!why(listed).contains("another process"), "{}", why(listed));
    let whole = format!(
        "{listed} Of the allocated memory 7.50 GiB is allocated by PyTorch, and 88.00 MiB is reserved by PyTorch but unallocated."
    );
    assert!(why(&whole).contains("another process: 70.02 GiB"), "{}", why(&whole));
    let short = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 7.79 GiB total; 3.53 GiB allocated; 1.40 GiB free)";
    assert!(!why(short).contains("another process") && why(short).contains("not ruled out"), "{}", why(short));
    // Windows lets a card's memory overflow into the machine's.
    let more = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.12 GiB. GPU 0 has a total capacty of 11.99 GiB of which 0 bytes is free. Of the allocated memory 16.16 GiB is allocated by PyTorch, and 144.59 MiB is reserved by PyTorch but unallocated.";
    assert!(why(more).contains("more than the card has"), "{}", why(more));
}
