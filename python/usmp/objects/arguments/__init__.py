"""Arguments of `usmp.build`: executor, runtime, pools."""
