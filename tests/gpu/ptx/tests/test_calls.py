"""Calls of device functions."""

import numpy as np

from tests.gpu.ptx.executor import HEADER, Module

PTX = f"""{HEADER}
.func (.param .b32 func_retval0) twice (.param .b32 twice_param_0);
.func (.param .align 4 .b8 func_retval0[8]) both (.param .b32 both_param_0, .param .b32 both_param_1) {{
  .local .align 4 .b8 __local_depot1[4];
  .reg .b32 %r<9>;
  ld.param.u32 %r1, [both_param_0];
  {{ // callseq 0, 0
    .param .b32 param0;
    st.param.b32 [param0+0], %r1;
    .param .b32 retval0;
    call.uni (retval0), twice, (param0);
    ld.param.b32 %r2, [retval0+0];
  }}
  st.local.u32 [__local_depot1], %r2;
  ld.param.u32 %r3, [both_param_1];
  ld.local.u32 %r4, [__local_depot1];
  st.param.b32 [func_retval0+0], %r4;
  st.param.b32 [func_retval0+4], %r3;
  ret;
}}
.func (.param .b32 func_retval0) twice (.param .b32 twice_param_0) {{
  .reg .b32 %r<9>; .reg .pred %p<3>;
  ld.param.u32 %r1, [twice_param_0];
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra $L__BB0_1;
  add.u32 %r1, %r1, %r1;
  st.param.b32 [func_retval0+0], %r1;
  ret;
$L__BB0_1:
  st.param.b32 [func_retval0+0], 0;
  ret;
}}
.visible .entry k(.param .u64 p_0) {{
  .reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [p_0];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 7;
  {{ // callseq 1, 0
    .param .b32 param0;
    st.param.b32 [param0+0], %r1;
    .param .b32 param1;
    st.param.b32 [param1+0], %r2;
    .param .align 4 .b8 retval0[8];
    call.uni (retval0), both, (param0, param1);
    ld.param.b32 %r3, [retval0+0];
    ld.param.b32 %r4, [retval0+4];
  }}
  {{ // callseq 2, 0
    .param .b32 param0;
    st.param.b32 [param0+0], %r4;
    .param .b32 retval0;
    call.uni (retval0), twice, (param0);
    ld.param.b32 %r5, [retval0+0];
  }}
  add.u32 %r3, %r3, %r5;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r3;
  ret;
}}
"""


def test_functions_are_called_by_threads_that_go_apart():
    result = np.zeros(40, np.uint32)
    module = Module(PTX)
    assert module.kernels() == ["k"]
    module.launch("k", (1,), (40,), [result])
    assert result.tolist() == [14, 14, *(14 + 2 * i for i in range(2, 40))]
