package assay.trial;

import site.ycsb.BasicDB;

/** A binding that keeps nothing, under another name. */
public class Idle extends BasicDB {}
